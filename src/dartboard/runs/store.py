"""Runs: one directory with everything that a search writes.

    config.yaml       the configuration, resolved; a directory that has it is a run
    environment.json  a list with what the run was started with, one entry a start
    space.json        the search space, where there is one
    metrics.jsonl     one line an epoch
    epochs/0007.json  details of an epoch
    checkpoints/      the newest checkpoints
    result.json       what came out, once the run is finished
    log.txt           what was logged, with times in UTC
    lock              held by the process that writes

All files but the log are there whole or not at all, whenever the process is killed.
"""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dartboard.errors import RunError
from dartboard.runs import text_files
from dartboard.runs.checkpoint import latest_state, save_checkpoint
from dartboard.runs.directory import (
    CHECKPOINTS,
    CONFIG,
    ENVIRONMENT,
    EPOCHS,
    LOG,
    METRICS,
    RESULT,
    SPACE,
    State,
    check_free,
    check_run,
    taking,
)
from dartboard.runs.environment import describe_environment
from dartboard.runs.lock import Lock
from dartboard.runs.run_files import RunReader
from dartboard.runs.tree import Tree
from dartboard.space import SearchSpace, space_to_json
from dartboard.utils import atomic

__all__ = ["METRICS", "Run", "State"]


class Run(RunReader):
    """A run on disk; made with `create`, `resume` or `read`.

    Attributes:
        path: Its directory.
        config: Its configuration, as config.yaml says it.
    """

    def __init__(self, path: Path, config: dict[str, Any], lock: Lock | None = None) -> None:
        super().__init__(path, config)
        self._lock = lock
        self._handlers: list[logging.Handler] = []

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: Mapping[str, Any],
        *,
        space: SearchSpace | None = None,
        device: str | None = None,
    ) -> "Run":
        """A new run, locked.

        Args:
            path: Its directory, which must not be there or be empty.
            config: Plain values.
            space: The space that is searched.
            device: Where it computes, for environment.json.

        Raises:
            RunError: If the directory is a run or holds something else, or YAML cannot say `config`.
        """
        path, text = Path(path), text_files.to_yaml(config)
        check_free(path)
        path.mkdir(parents=True, exist_ok=True)
        with taking(path) as lock:
            check_free(path)  # again: it may have become a run before it was locked
            atomic.remove_leftovers(path)
            if space is not None:
                atomic.write_text(path / SPACE, space_to_json(space) + "\n")
            atomic.write_text(path / ENVIRONMENT, text_files.pretty([describe_environment(device)]))
            atomic.write_text(path / CONFIG, text)  # last: from here on it is a run
            return cls(path, text_files.read_yaml(path / CONFIG), lock)

    @classmethod
    def resume(cls, path: str | Path, *, device: str | None = None) -> "Run":
        """A run that is there already, locked, with one more entry in environment.json.

        Raises:
            RunError: If it is no run, is in use, or has damaged files; names the first.
        """
        path = Path(path)
        check_run(path)
        with taking(path) as lock:
            for folder in (path, path / EPOCHS):
                if folder.is_dir():
                    atomic.remove_leftovers(folder)
            run = cls(path, text_files.read_yaml(path / CONFIG), lock)
            run.metrics()  # what is damaged is better known before anything is written
            starts = [*run.environment(), describe_environment(device)]
            atomic.write_text(path / ENVIRONMENT, text_files.pretty(starts))
            return run

    def record(self, epoch: int, metrics: Mapping[str, Any], details: Mapping[str, Any]) -> None:
        """Adds an epoch, later than those recorded: a line of metrics and a file of details.

        A finished run that goes on like this is no longer finished.

        Raises:
            RunError: If the epoch is recorded already or a number is not finite.
        """
        self._check_writable()
        row = {"epoch": epoch, **text_files.plain(metrics, "metrics")}
        text = text_files.pretty(text_files.plain(details, "details"))
        self._check_next(epoch, row)
        (self.path / RESULT).unlink(missing_ok=True)
        (self.path / EPOCHS).mkdir(exist_ok=True)
        atomic.write_text(self._epoch_path(epoch), text)
        self._write_metrics([*self.metrics(), row])  # last: an epoch that is listed has its details

    def rewind(self, epoch: int) -> None:
        """Forgets what was recorded for `epoch` and later ones, and the result if there were any.

        Checkpoints stay: they are what to go on from.
        """
        self._check_writable()
        rows = self.metrics()
        kept = [row for row in rows if row["epoch"] < epoch]
        if len(kept) < len(rows):
            (self.path / RESULT).unlink(missing_ok=True)
            self._write_metrics(kept)
        for path in (self.path / EPOCHS).glob("*.json"):
            if path.stem.isdecimal() and int(path.stem) >= epoch:  # others are not ours
                path.unlink()

    def save(self, step: int, state: Tree, *, keep: int = 2) -> None:
        """Writes a checkpoint; see `save_checkpoint`."""
        self._check_writable()
        save_checkpoint(self.path / CHECKPOINTS, step, state, keep=keep)

    def load(self, *, fall_back: bool = False) -> tuple[int, Tree] | None:
        """Step and state of the newest checkpoint; see `latest_state`."""
        return latest_state(self.path / CHECKPOINTS, fall_back=fall_back)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Writes what came out; from then on the run is finished."""
        self._check_writable()
        atomic.write_text(self.path / RESULT, text_files.pretty(text_files.plain(result, "result")))

    def log_handler(self) -> logging.Handler:
        """A handler that appends to log.txt, with times in UTC; closed with the run."""
        self._check_writable()
        handler = logging.FileHandler(self.path / LOG, encoding="utf-8", delay=True)
        form = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s")
        form.default_time_format, form.default_msec_format = "%Y-%m-%dT%H:%M:%S", ""
        form.converter = time.gmtime
        handler.setFormatter(form)
        self._handlers.append(handler)
        return handler

    def close(self) -> None:
        """Releases the lock and closes the log; what is left can only read."""
        for handler in self._handlers:
            handler.close()
        if self._lock is not None:
            self._lock.release()
        self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_writable(self) -> None:
        if self._lock is None:
            raise RunError(f"{self.path} is open for reading only; open it with Run.resume to write")

    def _check_next(self, epoch: int, row: Mapping[str, Any]) -> None:
        if epoch < 0:
            raise RunError(f"epochs are counted from 0, got {epoch}")
        if row["epoch"] != epoch:
            raise RunError("metrics have an 'epoch' of their own; the number of the epoch is added to them")
        last = max((row["epoch"] for row in self.metrics()), default=-1)
        if epoch <= last:
            raise RunError(f"epoch {epoch} cannot follow epoch {last}, which is recorded; rewind first")

    def _write_metrics(self, rows: list[dict[str, Any]]) -> None:
        atomic.write_text(self.path / METRICS, "".join(map(text_files.line, rows)))
