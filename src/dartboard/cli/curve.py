"""A training while it runs: its numbers, and how accurate it was after every epoch."""

from typing import Any

from rich.text import Text

from dartboard.cli.display import Moving
from dartboard.cli.terminal import Terminal
from dartboard.cli.words import bars


class Curve(Moving):
    """Bars, one an epoch that was measured, the last ones where there are too many."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self._accuracies: list[float] = []
        self._part = ""

    def on_start(self, loop: Any) -> None:
        self._part = loop.measured_on
        rows = loop.run.metrics() if loop.run is not None else []
        self._accuracies = [row[self._key] for row in rows if self._key in row]
        super().on_start(loop)

    def on_epoch_end(self, loop: Any, record: Any) -> None:
        if record.found is not None:
            self._accuracies.append(record.found.top1)
        super().on_epoch_end(loop, record)

    @property
    def _key(self) -> str:
        return f"{self._part}_accuracy"

    def picture(self, room: int) -> list[Text]:
        """The bars and what they go from and to, if there is room."""
        if room < 2 or not self._accuracies:
            return []
        shown = self._accuracies[-self.terminal.width :]
        best = max(self._accuracies)
        words = f"{self._part} accuracy {min(shown):.1%} to {max(shown):.1%}, best so far {best:.1%}"
        blocks = bars(shown, self.terminal.pen.levels)
        return [Text(blocks, "green"), Text(words, "dim")]
