"""What results of searches and trainings have in common: how they are shown."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from dartboard.errors import OptionError, RunError
from dartboard.registry import find_renderer
from dartboard.space import Genotype

MAX_CELLS, MAX_EDGES = 2, 14
"""Cells and edges that are written out; of larger genotypes the rest is counted."""
T = TypeVar("T")


class Result(ABC):
    """A result that can be printed, drawn and reported on.

    Attributes:
        genotype: The architecture.
        run: The run directory; None if nothing was written.
    """

    genotype: Genotype
    run: Path | None

    @abstractmethod
    def summary(self) -> dict[str, str]:
        """What to show first, by label."""

    @abstractmethod
    def plot(self) -> Any:
        """A matplotlib figure of it."""

    def __repr__(self) -> str:
        lines = [f"{label:<10} {text}" for label, text in self.summary().items()]
        groups = self.genotype.groups
        for group, cell in groups[:MAX_CELLS]:
            edges = [f"{edge.source}->{edge.target} {edge.ops[0]}" for edge in cell.edges]
            rest = f" and {len(edges) - MAX_EDGES} more" if len(edges) > MAX_EDGES else ""
            lines.append(f"{group:<10} {', '.join(edges[:MAX_EDGES])}{rest}")
        if len(groups) > MAX_CELLS:
            lines.append(f"and {len(groups) - MAX_CELLS} more cells")
        return "\n  ".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        """The summary and a drawing of the cells, for notebooks."""
        html: str = find_renderer("cells_html")(type(self).__name__, self.summary(), self.genotype)
        return html

    def report(self, path: str | Path | None = None) -> Path:
        """Writes the HTML page about the run, which needs no network, and returns its path.

        Args:
            path: The file; None for report.html in the run directory.

        Raises:
            RunError: If there is no run directory.
        """
        if self.run is None:
            raise RunError("a report is about a run directory, and there is none; give run='runs/NAME'")
        written: Path = find_renderer("report")([self.run], path or self.run / "report.html")
        return written


def check_choice(name: str, value: str, values: Mapping[str, T]) -> T:
    """What an argument stands for; raises OptionError if it is none of the keys of `values`."""
    if value not in values:
        raise OptionError(f"{name} is {' or '.join(map(repr, values))}, not {value!r}")
    return values[value]
