"""Directories of runs and sweeps: their files, which directories are runs, and a read-only view of a run.

Nothing here needs torch.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from dartboard.errors import GenotypeError, NewerFormatError, RunError
from dartboard.runs import text_files
from dartboard.runs.lock import LOCK, is_locked
from dartboard.utils import atomic
from dartboard.utils.checksums import CHECKSUMS, read_file, write_changed
from dartboard.utils.formats import check_format

if TYPE_CHECKING:
    from dartboard.space import Genotype, SearchSpace

CONFIG, ENVIRONMENT, SPACE = "config.yaml", "environment.json", "space.json"
METRICS, EPOCHS, CHECKPOINTS = "metrics.jsonl", "epochs", "checkpoints"
RESULT, LOG = "result.json", "log.txt"
INIT = "init.safetensors"
"""The weights that a training started from, where they were not drawn from the seed."""
SWEEP, SWEEP_PLAN, SWEEP_RESULTS = "sweep.yaml", "plan.json", "results.jsonl"
"""Files of a sweep, whose runs are in directories inside it: settings, names of the runs, results."""

FORMAT, FORMAT_KEY = 2, "format"
"""Version of the files of a run, and its key in config.yaml. Format 1, of version 0.1, has no number; 2 has
it, checksums, init.safetensors, and the settings init and schedule_history."""

State = Literal["finished", "running", "stopped"]

_SHOWN = 6  # runs listed in an error


def is_run(path: Path) -> bool:
    """Whether a directory is a run: config.yaml is the last file written when one is created."""
    return (path / CONFIG).is_file()


def read_config(path: Path, keys: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration of the run in a directory; with `keys` these alone, in a fraction of the time.

    Raises:
        NewerFormatError: If a newer version of dartboard has written the run.
        RunError: If it cannot be read.
    """
    config = text_files.read_yaml(path / CONFIG, (FORMAT_KEY, *keys) if keys else ())
    check_format(config.pop(FORMAT_KEY, 1), FORMAT, path, NewerFormatError)
    return config


def state_of(path: Path) -> State:
    """`finished` with a result; without one `running` if the lock is held, else `stopped`."""
    if os.path.lexists(path / RESULT):
        return "finished"
    return "running" if is_locked(path) else "stopped"


def check_run(path: Path) -> None:
    """Raises RunError, with the runs nearby, if a directory is not a run."""
    if is_run(path):
        return
    if not path.is_dir():
        raise RunError(f"{path} is not a run: there is no such directory")
    near = [str(inner) for inner in sorted(path.iterdir()) if is_run(inner)]
    near += [str(path.absolute().parent)] if is_run(path.absolute().parent) else []
    rest = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    hint = f"; did you mean {', '.join(near[:_SHOWN])}{rest}?" if near else ""
    raise RunError(f"{path} is not a run: it has no {CONFIG}{hint}")


def check_free(path: Path) -> None:
    """Raises RunError if no run can be created at `path`."""
    if is_run(path):
        raise RunError(
            f"{path} already holds a run; continue it with --resume {path} or choose another directory"
        )
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; choose another directory")
    if path.is_dir():
        names = sorted(inner.name for inner in path.iterdir() if not atomic.is_leftover(inner))
        interrupted = LOCK in names and {*names} <= {
            LOCK,
            SPACE,
            INIT,
            ENVIRONMENT,
            CHECKSUMS,
        }  # while a run was created
        if names and not interrupted:
            raise RunError(f"{path} is not empty: it holds {names[0]}; choose another directory")


class RunReader:
    """Read-only view of a run on disk, in use or not: for all code that only looks at its files.

    It takes no lock and needs no torch. `Run` (`dartboard.runs.store`) also writes, and loads checkpoints.

    Attributes:
        path: Its directory.
        config: Its configuration, from config.yaml.
    """

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self.path = path
        self.config = config

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Opens a run for reading, in use or not; everything that writes raises RunError."""
        path = Path(path)
        check_run(path)
        return cls(path, read_config(path))

    def environment(self) -> list[dict[str, Any]]:
        """Environment of every start of the run, the newest last."""
        return text_files.read_objects(self.path / ENVIRONMENT)

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of all epochs, in order, each with its number under "epoch".

        Raises:
            RunError: If a line is not such an object; says which.
        """
        path = self.path / METRICS
        try:
            return text_files.rows(read_file(path, root=self.path), path)
        except FileNotFoundError:
            return []

    def epoch(self, number: int) -> dict[str, Any]:
        """The details of an epoch.

        Raises:
            RunError: If there are none.
        """
        try:
            return text_files.read_object(self._epoch_path(number), self.path)
        except FileNotFoundError:
            known = [row["epoch"] for row in self.metrics()]
            hint = f"the last is {known[-1]}" if known else "there are none yet"
            raise RunError(f"{self.path} has no epoch {number}; {hint}") from None

    def result(self) -> dict[str, Any] | None:
        """The result, or None as long as the run is not finished."""
        path = self.path / RESULT
        return text_files.read_object(path) if os.path.lexists(path) else None

    def space(self) -> "SearchSpace":
        """The space that the run searches or trains a cell of.

        Raises:
            SpaceError: If it has none that can be read.
        """
        from dartboard.space import load_space

        return load_space(self.path / SPACE, root=self.path)

    @property
    def state(self) -> State:
        """`finished`, `running` or `stopped`; see `state_of`."""
        return state_of(self.path)

    @property
    def genotype(self) -> "Genotype":
        """The architecture that the run trains, has selected, or would select after its last epoch.

        Raises:
            GenotypeError: If its first epoch is not over.
        """
        from dartboard.space import decode  # lists of runs do without spaces

        if isinstance(cell := self.config.get("cell"), str):  # a training
            return decode(cell)
        epochs = self.metrics()
        result = self.result() or (self.epoch(epochs[-1]["epoch"]) if epochs else {})
        if "genotype" not in result:
            raise GenotypeError(f"the run {self.path} has no genotype yet; its first epoch is not over")
        return decode(json.dumps(result["genotype"]))

    def report(self, path: str | Path | None = None) -> Path:
        """Writes the HTML page about the run, which needs no network, and returns its path.

        That is report.html in the run directory unless a path is given.
        """
        from dartboard.registry import find_renderer

        written: Path = find_renderer("report")([self.path], path or self.path / "report.html")
        return written

    def __repr__(self) -> str:
        from dartboard.runs.listing import summarize_run

        run = summarize_run(self.path)
        names = {"space": run.space, "method": run.method, "data": run.data, "seed": run.seed}
        settings = ", ".join(f"{name} {value}" for name, value in names.items() if value is not None)
        lines = [f"{type(self).__name__}({str(self.path)!r})", f"  {run.kind or 'run'}: {settings}"]
        progress = run.state if run.epochs is None else f"{run.state}, epoch {run.epoch or 0} of {run.epochs}"
        accuracy = "" if run.accuracy is None else f", accuracy {run.accuracy:.1%}"
        lines += [f"  {progress}{accuracy}", *([f"  {run.mistake}"] if run.mistake else [])]
        return "\n".join(lines)

    def _epoch_path(self, number: int) -> Path:
        return self.path / EPOCHS / f"{number:04d}.json"


def load_run(path: str | Path) -> RunReader:
    """A run directory to look at: its `config`, `metrics()`, `result()`, `genotype` and `report()`.

    Raises:
        RunError: If the directory is not a run; names runs nearby.

    Examples:
        >>> from dartboard import Searcher, load_run
        >>> result = Searcher("nano", "random", "digits", run="runs/mine").fit()
        >>> run = load_run("runs/mine")
        >>> run.config["method"]["name"], run.genotype == result.genotype
        ('random', True)
        >>> run
        RunReader('runs/mine')
          search: space nano, method random, data digits, seed 0
          finished, epoch 0 of 50
    """
    return RunReader.read(path)


def write_run_names(folder: Path, names: Sequence[str]) -> None:
    """Writes the names of the runs of a sweep, if they have changed."""
    write_changed(folder / SWEEP_PLAN, json.dumps({"runs": list(names)}, indent=0) + "\n")


def read_run_names(folder: Path) -> list[str] | None:
    """Names of the runs of a sweep; None if they have not been written.

    Raises:
        RunError: If the file is damaged.
    """
    path = folder / SWEEP_PLAN
    if not os.path.lexists(path):
        return None
    names = text_files.read_object(path).get("runs")
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_inside(name) for name in names):
        raise RunError(f"{path} should say the names of runs; it was changed after it was written")
    return names


def _is_inside(name: str) -> bool:
    """Whether a name stays inside the folder that it is joined to."""
    return bool(name) and not Path(name).is_absolute() and ".." not in Path(name).parts
