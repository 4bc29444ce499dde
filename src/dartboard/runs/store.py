"""Runs: one directory with everything that a search writes.

    config.yaml       the resolved configuration, and the format of the run; a directory that has it is a run
    environment.json  versions, machine and command line of every start
    space.json        the search space, where there is one
    init.safetensors  the weights that a training started from, where they were not drawn from the seed
    metrics.jsonl     one line per epoch
    epochs/0007.json  details of an epoch
    checkpoints/      the newest checkpoints
    result.json       the result, once the run is finished
    log.txt           the log, with times in UTC
    checksums.txt     the checksum of every file above, but for checkpoints, which have their own
    lock              held by the process that writes

All files but the log are written atomically, so a kill at any moment leaves none of them half written.
Lines of metrics are appended, by the rules of `dartboard.utils.checksums`.
"""

import logging
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

import dartboard
from dartboard.distributed import world_size
from dartboard.errors import DartboardError, RunError
from dartboard.plugins import installed_packages
from dartboard.runs.checkpoint import Tree, latest_state, save_checkpoint
from dartboard.runs.directory import (
    CHECKPOINTS,
    CONFIG,
    ENVIRONMENT,
    EPOCHS,
    FORMAT,
    FORMAT_KEY,
    INIT,
    LOG,
    METRICS,
    RESULT,
    SPACE,
    RunReader,
    check_free,
    check_run,
    is_run,
    read_config,
)
from dartboard.runs.lock import Lock, lock_unless_failed
from dartboard.runs.text_files import differences, plain, rows, to_json, to_yaml
from dartboard.space import SearchSpace, space_to_json
from dartboard.utils import atomic
from dartboard.utils.checksums import (
    CHECKSUMS,
    AppendedFile,
    record_growing,
    remove_file,
    settle,
    write_file,
)
from dartboard.utils.safe_files import check_folder, open_handle

_SECONDS = 5  # that git may take


class Run(RunReader):
    """A run that this process writes to: `create` and `resume` lock it, `close` releases it.

    `read` opens one without a lock, to load its checkpoints; whatever writes then raises RunError. Code that
    only looks at the files of a run takes a `RunReader`, which needs neither lock nor torch. Code that is
    given a path, where there may be a run or not yet, makes a `RunDirectory` of it.
    """

    def __init__(self, path: Path, config: dict[str, Any], lock: Lock | None = None) -> None:
        super().__init__(path, config)
        self._lock = lock
        self._handlers: list[logging.Handler] = []
        self._metrics, self._last_epoch = AppendedFile(path / METRICS), -1

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: Mapping[str, Any],
        *,
        space: SearchSpace | None = None,
        device: str | None = None,
        initial: bytes = b"",
    ) -> "Run":
        """A new run, locked.

        Args:
            path: Its directory, which must be absent or empty.
            config: Configuration, made of plain values.
            space: Search space.
            device: Device of the run, for environment.json.
            initial: Contents of init.safetensors; empty for none.

        Raises:
            RunError: If the directory is a run or not empty, or `config` cannot be written as YAML.
        """
        path, text = Path(path), to_yaml({FORMAT_KEY: FORMAT, **config})
        check_free(path)
        path.mkdir(parents=True, exist_ok=True)
        with lock_unless_failed(path) as lock:
            check_free(path)  # again: it may have become a run before it was locked
            atomic.remove_leftovers(path)
            (path / CHECKSUMS).unlink(missing_ok=True)  # of a run that was interrupted while it was created
            if space is not None:
                write_file(path / SPACE, space_to_json(space) + "\n")
            if initial:
                write_file(path / INIT, initial)
            write_file(path / ENVIRONMENT, to_json([describe_environment(device)], indent=1))
            write_file(path / CONFIG, text)  # last: from here on it is a run
            return cls(path, read_config(path), lock)

    @classmethod
    def resume(cls, path: str | Path, *, device: str | None = None) -> "Run":
        """An existing run, locked, with one more entry in environment.json.

        Raises:
            RunError: If it is not a run, is in use, or has damaged files; names the first.
        """
        path = Path(path)
        check_run(path)
        with lock_unless_failed(path) as lock:
            for folder in (path, path / EPOCHS, path / CHECKPOINTS):
                check_folder(folder, path)
                atomic.remove_leftovers(folder)
            settle(path)
            run = cls(path, read_config(path), lock)
            run.metrics()  # fail on a damaged file before anything is written
            starts = [*run.environment(), describe_environment(device)]
            write_file(path / ENVIRONMENT, to_json(starts, indent=1))
            return run

    def record(self, epoch: int, metrics: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        """Adds an epoch, later than those recorded: a line of metrics and a file of details.

        A finished run that continues like this is no longer finished.

        Raises:
            RunError: If the epoch is recorded already or a number is not finite.
        """
        self._check_writable()
        row = {"epoch": epoch, **plain(metrics, "metrics")}
        text = to_json(plain(details, "details"), indent=1)
        if epoch < 0:
            raise RunError(f"epochs are counted from 0, got {epoch}")
        if row["epoch"] != epoch:
            raise RunError("metrics have an 'epoch' of their own; the number of the epoch is added to them")
        if not self._metrics.is_known:  # only then are all epochs read again
            recorded = rows(self._metrics.read(), self._metrics.path)
            self._last_epoch = max((row["epoch"] for row in recorded), default=-1)
        if epoch <= (last := self._last_epoch):
            raise RunError(f"epoch {epoch} cannot follow epoch {last}, which is recorded; rewind first")
        remove_file(self.path / RESULT)
        check_folder(self.path / EPOCHS, self.path)
        (self.path / EPOCHS).mkdir(exist_ok=True)
        self.write(f"{EPOCHS}/{self._epoch_path(epoch).name}", text)
        self._metrics.append(to_json(row).encode())  # last: an epoch that is listed has its details
        self._last_epoch = epoch

    def rewind(self, epoch: int) -> None:
        """Removes the metrics and details of `epoch` and later ones, and the result if there were any.

        Checkpoints stay: the run continues from them.
        """
        self._check_writable()
        recorded = self.metrics()
        earlier = [row for row in recorded if row["epoch"] < epoch]
        if len(earlier) < len(recorded):
            remove_file(self.path / RESULT)
            self.write(METRICS, "".join(map(to_json, earlier)))
        for path in (self.path / EPOCHS).glob("*.json"):
            if path.stem.isdecimal() and int(path.stem) >= epoch:  # others are not files of epochs
                remove_file(path, root=self.path)

    def reconfigure(self, changes: Mapping[str, Any]) -> None:
        """Changes settings in config.yaml; from then on the run is not finished.

        A kill on the way leaves the run as it was, but for its result, which is found again on resume.
        """
        self._check_writable()
        text = to_yaml({FORMAT_KEY: FORMAT, **self.config, **changes})
        remove_file(self.path / RESULT)
        self.write(CONFIG, text)
        self.config = read_config(self.path)

    def write(self, name: str, data: str | bytes) -> None:
        """Writes one more file of the run, with its checksum."""
        self._check_writable()
        write_file(self.path / name, data, root=self.path)

    def save(self, step: int, state: Tree, *, keep: int = 2) -> None:
        """Writes a checkpoint; see `save_checkpoint`."""
        self._check_writable()
        save_checkpoint(self.path / CHECKPOINTS, step, state, keep=keep)

    def load(self, *, fall_back: bool = False) -> tuple[int, Tree] | None:
        """Step and state of the newest checkpoint; see `latest_state`."""
        return latest_state(self.path / CHECKPOINTS, fall_back=fall_back)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Writes the result; from then on the run is finished."""
        self._check_writable()
        self.write(RESULT, to_json(plain(result, "result"), indent=1))

    def log_handler(self) -> logging.Handler:
        """A handler that appends to log.txt, with times in UTC; closed with the run."""
        self._check_writable()
        with suppress(FileNotFoundError):
            os.close(open_handle(self.path / LOG, os.O_RDONLY, root=self.path, limit=None))
        handler = logging.FileHandler(self.path / LOG, encoding="utf-8", delay=True)
        formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s")
        formatter.default_time_format, formatter.default_msec_format = "%Y-%m-%dT%H:%M:%S", ""
        formatter.converter = time.gmtime
        handler.setFormatter(formatter)
        self._handlers.append(handler)
        return handler

    def close(self) -> None:
        """Releases the lock and closes the log; from then on the run is read-only."""
        for handler in self._handlers:
            handler.close()
        if self._lock is not None:
            record_growing(self.path / LOG)
            self._lock.release()
        self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_writable(self) -> None:
        if self._lock is None:
            raise RunError(f"{self.path} is open for reading only; open it with Run.resume to write")


@dataclass(frozen=True)
class RunDirectory:
    """A path that is to become a run, or holds one with the same settings that is to be resumed.

    Nothing is read or written before `check`, or locked before `open`, which returns the `Run`: a search or a
    training that is given a path opens it when it starts. Its configuration has every default written out;
    `initial` are the contents of init.safetensors, empty for none.
    """

    path: Path
    config: Mapping[str, Any]
    initial: bytes = b""

    def check(self, normalize: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Fails fast on a directory that holds other files, or a run with other settings; names them.

        Args:
            normalize: Adds the defaults of settings that an older run does not record.
        """
        if not is_run(self.path):
            check_free(self.path)
            return
        try:
            before = normalize(RunReader.read(self.path).config)
        except (DartboardError, AttributeError) as error:  # the latter where there are no settings at all
            raise RunError(f"{self.path} is a run of something else: {error}") from None
        if changes := differences(before, self.config):
            raise RunError(f"{self.path} is a run with other settings: {changes}; name another directory")

    def open(self, space: SearchSpace, device: str) -> Run:
        """The run, locked: a new one, or the one that is there."""
        if is_run(self.path):
            return Run.resume(self.path, device=device)
        return Run.create(self.path, self.config, space=space, device=device, initial=self.initial)


def describe_environment(device: str | None = None) -> dict[str, Any]:
    """Versions, machine, command line, source and device, if known, of this process, as plain values."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(sys.argv),
        "dartboard": dartboard.__version__,
        "git": describe_source(Path(dartboard.__file__).parents[2]),
        "plugins": installed_packages(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "cpus": os.cpu_count(),
        "device": device,
        "threads": torch.get_num_threads(),
        "processes": world_size(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def describe_source(root: Path) -> dict[str, Any] | None:
    """Revision of a source tree and whether it has changes, or None without git."""
    if not (root / ".git").exists():  # else git would answer for a repository around it
        return None
    revision = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain")
    if revision is None or changes is None:
        return None
    return {"revision": revision, "dirty": bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    """Output of git, or None if it is missing, fails or takes too long."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "--no-optional-locks", "-C", str(root), *arguments]
    try:
        process = subprocess.run(  # noqa: S603  # nothing in it comes from outside
            command, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return process.stdout.strip()
