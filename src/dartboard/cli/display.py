"""What is seen of a search while it runs: a live display, plain lines, or nothing."""

import logging
import re
import sys
from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from dartboard.cli.report import Archs, fit_cells
from dartboard.cli.terminal import Terminal
from dartboard.cli.words import span
from dartboard.search.health import mean_entropy, measure
from dartboard.search.hooks import Hook
from dartboard.search.record import Record
from dartboard.search.searcher import Searcher
from dartboard.search.select import FromStrengths, strongest
from dartboard.space import Genotype

PAUSE = 0.25  # seconds between two looks: each waits for the device
LOOK = 5.0  # seconds between two looks at the strengths, which wait once more
LABELS = {
    "train_loss": "loss {:.3f}",
    "train_accuracy": "train {:.1%}",
    "valid_accuracy": "valid {:.1%}",
    "entropy": "entropy {:.3f}",
}


def numbers(metrics: Mapping[str, Any]) -> str:
    """The numbers of an epoch that are shown, as far as they are there."""
    return "  ".join(form.format(metrics[name]) for name, form in LABELS.items() if name in metrics)


def current_choice(searcher: Searcher) -> tuple[Genotype, float] | None:
    """What an epoch that ended now would record: the genotype, and the mean entropy.

    None where more than strengths decides; then nobody knows before the epoch is over.
    """
    method, space = searcher.method, searcher.space
    if not isinstance(method.preview or method.select, FromStrengths):
        return None
    strengths = searcher.relaxation.strengths()
    genotype = strongest(space, strengths)
    return genotype, mean_entropy(measure(space, genotype, strengths))


class Display(Hook):
    """Shows nothing; the base of those that do.

    Inside a `with`, what the package warns of is shown as well, each thing once.
    """

    shows = False
    """Whether anything is seen of it."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None
        self._noted: set[str] = set()
        self._handler = _Notes(self)

    def say(self, lines: list[str]) -> None:
        """Shows lines that stay."""

    def note(self, warning: str) -> None:
        """Shows a warning, unless it has been shown."""
        text = re.sub(r"^epoch \d+: ", "", warning)
        if text not in self._noted:
            self._noted.add(text)
            self.say([f"warning: {text}"])

    def on_start(self, searcher: Searcher) -> None:
        self._start = monotonic(), searcher.step

    def left(self, searcher: Searcher) -> str:
        """How long it will take from here, by the pace so far."""
        assert self._start is not None  # noqa: S101  # `on_start` has seen to it
        start, first = self._start
        pace = (monotonic() - start) / max(searcher.step - first, 1)
        return f"{span(pace * (searcher.plan.epochs * searcher.plan.steps - searcher.step))} left"

    def __enter__(self) -> Self:
        logging.getLogger("dartboard").addHandler(self._handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("dartboard").removeHandler(self._handler)


class _Notes(logging.Handler):
    """Hands warnings to a display."""

    def __init__(self, display: Display) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.note(record.getMessage())


class Lines(Display):
    """One plain line an epoch."""

    shows = True

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal

    def say(self, lines: list[str]) -> None:
        self.terminal.write(lines)

    def on_epoch_end(self, searcher: Searcher, record: Record) -> None:
        epochs = searcher.plan.epochs
        place = f"epoch {searcher.epoch:{len(str(epochs))}} of {epochs}"
        self.say([f"{place}  {numbers(record.metrics)}  {self.left(searcher)}"])


class Screen(Display):
    """A display that is drawn anew several times a second.

    Args:
        terminal: Where.
    """

    shows = True

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal
        self._live = Live(console=terminal, auto_refresh=False, transient=True)
        self._metrics: dict[str, Any] = {}
        self._archs: Archs = ()
        self._cells: list[Text] = []
        self._layout: tuple[Archs, int, int] | None = None
        self._drawn = self._looked = 0.0

    def say(self, lines: list[str]) -> None:
        self.terminal.write(lines)

    def on_start(self, searcher: Searcher) -> None:
        super().on_start(searcher)
        self._look(searcher)
        self._draw(searcher, "starting")

    def on_step_end(self, searcher: Searcher) -> None:
        if monotonic() - self._drawn >= PAUSE:
            self._metrics |= searcher.meter.read()
            if monotonic() - self._looked >= LOOK:
                self._look(searcher)
            self._draw(searcher, self.left(searcher))

    def on_epoch_end(self, searcher: Searcher, record: Record) -> None:
        self._metrics = dict(record.metrics)
        self._archs = record.genotype.archs
        self._looked = monotonic()
        self._draw(searcher, self.left(searcher))

    def on_select(self, searcher: Searcher) -> None:
        self._draw(searcher, "choosing the cell")

    def _look(self, searcher: Searcher) -> None:
        choice = current_choice(searcher)
        if choice is not None:
            self._archs, self._metrics["entropy"] = choice[0].archs, choice[1]
        self._looked = monotonic()

    def _draw(self, searcher: Searcher, remark: str) -> None:
        head = [Text(_place(searcher) + remark, "bold"), Text(numbers(self._metrics)), Text()]
        width, height = self.terminal.size
        self._lay_out(height - sum(len(line.wrap(self.terminal, width)) for line in head))
        self._live.update(Group(*head, *self._cells), refresh=True)
        self._drawn = monotonic()

    def _lay_out(self, room: int) -> None:
        """Draws the cells again if they are others or the room for them is."""
        layout = self._archs, self.terminal.width, room
        if self._archs and layout != self._layout:
            self._layout, self._cells = layout, fit_cells(self._archs, self.terminal, room)

    def __enter__(self) -> Self:
        self._live.start()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._live.stop()


def _place(searcher: Searcher) -> str:
    """How far a search has come, with a comma; nothing where nothing is trained."""
    plan = searcher.plan
    epoch = min(searcher.epoch + 1, plan.epochs)
    step = searcher.step - (epoch - 1) * plan.steps
    return f"epoch {epoch} of {plan.epochs}, step {step} of {plan.steps}, " if plan.epochs else ""


def choose_display(*, quiet: bool, json: bool) -> Display:
    """The display for where the program writes; JSON leaves standard output alone."""
    if quiet or (json and not sys.stderr.isatty()):
        return Display()
    terminal = Terminal(stderr=json)
    moves = terminal.is_terminal and not terminal.is_dumb_terminal
    return Screen(terminal) if moves else Lines(terminal)
