"""A run that is looked at: what its small files say, read without torch."""

from pathlib import Path
from typing import Any, Self

from dartboard.errors import RunError
from dartboard.runs import text_files
from dartboard.runs.directory import CONFIG, ENVIRONMENT, EPOCHS, METRICS, RESULT, State, check_run, state_of


class RunReader:
    """What a run on disk says of itself, in use or not.

    Attributes:
        path: Its directory.
        config: Its configuration, as config.yaml says it.
    """

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self.path = path
        self.config = config

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A run to look at, in use or not; everything that writes raises RunError."""
        path = Path(path)
        check_run(path)
        return cls(path, text_files.read_yaml(path / CONFIG))

    def environment(self) -> list[dict[str, Any]]:
        """What the run was started with, an entry a start; the last is the newest."""
        return text_files.read_objects(self.path / ENVIRONMENT)

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of all epochs, in order, each with its number under "epoch".

        Raises:
            RunError: If a line is not such an object; says which.
        """
        path = self.path / METRICS
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [text_files.row(text, f"{path}, line {number}") for number, text in enumerate(lines, 1)]

    def epoch(self, number: int) -> dict[str, Any]:
        """The details of an epoch.

        Raises:
            RunError: If there are none.
        """
        try:
            return text_files.read_object(self._epoch_path(number))
        except FileNotFoundError:
            known = [row["epoch"] for row in self.metrics()]
            there = f"the last is {known[-1]}" if known else "there are none yet"
            raise RunError(f"{self.path} has no epoch {number}; {there}") from None

    def result(self) -> dict[str, Any] | None:
        """What came out, or None as long as the run is not finished."""
        path = self.path / RESULT
        return text_files.read_object(path) if path.exists() else None

    @property
    def state(self) -> State:
        """`finished` with a result; without one `running` if somebody holds the lock, else `stopped`."""
        return state_of(self.path)

    def _epoch_path(self, number: int) -> Path:
        return self.path / EPOCHS / f"{number:04d}.json"
