"""The run directory of a loop that is given a path: created or resumed when the loop starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dartboard.errors import DartboardError, RunError
from dartboard.runs import Run, RunReader, differences, is_run
from dartboard.runs.directory import check_free
from dartboard.space import SearchSpace


@dataclass(frozen=True)
class RunDirectory:
    """A directory that is created as a run, or that holds a run with the same settings.

    Its configuration has every default written out.
    """

    path: Path
    config: Mapping[str, Any]

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
        return Run.create(self.path, self.config, space=space, device=device)
