"""What is shown of searches, trainings and protocols while they run: a live display, lines, or nothing."""

import logging
import re
import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from dartboard.cli.render import Groups, Terminal, fit_cells, format_metrics
from dartboard.engine.hooks import LoopHook
from dartboard.search.health import mean_entropy, measure
from dartboard.search.searcher import Searcher
from dartboard.search.select import FromStrengths, strongest
from dartboard.space import Genotype
from dartboard.utils.text import span

AnyLoop = Any  # a `Loop`; displays of one kind of loop know it better

PAUSE = 0.25
"""Seconds between two updates of the display: each waits for the device."""
LOOK = 5.0
"""Seconds between two updates of the strengths, which wait once more."""


def current_choice(searcher: Searcher) -> tuple[Genotype, float] | None:
    """The genotype and the mean entropy that an epoch would record if it ended now.

    None if the method selects by more than strengths: that is only known when the epoch is over.
    """
    method, space = searcher.method, searcher.space
    if not isinstance(method.preview or method.select, FromStrengths):
        return None
    strengths = searcher.relaxation.strengths()
    genotype = strongest(space, strengths)
    return genotype, mean_entropy(measure(space, genotype, strengths))


class Display(LoopHook[Any, Any, Any]):
    """Shows single lines; the base class of displays that show more.

    Inside a `with`, warnings that the package logs are shown as well, each of them once.

    Args:
        terminal: The terminal to write to; None shows nothing.

    Attributes:
        shows: True if anything is shown.
    """

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._terminal, self.shows = terminal, terminal is not None
        self._start: tuple[float, int] | None = None
        self._warnings: set[str] = set()
        self._handler = _WarningHandler(self)

    def say(self, lines: list[str]) -> None:
        """Show lines that stay."""
        if self._terminal is not None:
            self._terminal.write(lines)

    def warn(self, warning: str) -> None:
        """Show a warning, unless it has been shown."""
        text = re.sub(r"^epoch \d+: ", "", warning)
        if text not in self._warnings:
            self._warnings.add(text)
            self.say([f"warning: {text}"])

    def on_start(self, loop: AnyLoop) -> None:
        self._start = monotonic(), loop.step

    def left(self, loop: AnyLoop) -> str:
        """The time that is left, by the pace so far."""
        assert self._start is not None  # noqa: S101  # set by `on_start`
        start, first = self._start
        pace = (monotonic() - start) / max(loop.step - first, 1)
        return f"{span(pace * (loop.plan.epochs * loop.plan.steps - loop.step))} left"

    def __enter__(self) -> Self:
        logging.getLogger("dartboard").addHandler(self._handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("dartboard").removeHandler(self._handler)


class _WarningHandler(logging.Handler):
    """Passes warnings to a display."""

    def __init__(self, display: Display) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.warn(record.getMessage())


class Changes(LoopHook[Any, Any, Any]):
    """Prints to standard error what has changed since the run was stopped, unless it is finished."""

    def on_start(self, loop: AnyLoop) -> None:
        if loop.changed and loop.epoch < loop.plan.epochs:
            sys.stderr.write(f"dartboard: {loop.changed}\n")


class EpochLines(Display):
    """One line for each epoch."""

    def name(self, loop: AnyLoop) -> str:  # noqa: ARG002
        """What stands before the epoch."""
        return ""

    def on_epoch_end(self, loop: AnyLoop, record: Any) -> None:
        epochs = loop.plan.epochs
        position = f"{self.name(loop)}epoch {loop.epoch:{len(str(epochs))}} of {epochs}"
        self.say([f"{position}  {format_metrics(record.metrics)}  {self.left(loop)}"])


class RunLines(EpochLines):
    """One line for each epoch of each run of a protocol, with the name of the run."""

    def name(self, loop: AnyLoop) -> str:
        """The directory of a run inside that of its protocol."""
        return "/".join(loop.run.path.parts[-2:]) + "  "

    def on_end(self, loop: AnyLoop, result: Any) -> None:
        self.say([f"{self.name(loop)}done in {span(result.seconds)}"])


class LiveDisplay(Display):
    """A display that is redrawn several times a second: the step, the metrics, a picture.

    Args:
        terminal: The terminal to draw on.
    """

    waiting = "measuring"
    """What happens after the last epoch."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self.terminal = terminal
        self.metrics: dict[str, Any] = {}
        self._live = Live(console=terminal, auto_refresh=False, transient=True)
        self._drawn = 0.0

    def picture(self, room: int) -> list[Text]:  # noqa: ARG002
        """What is drawn below the metrics, in at most `room` lines."""
        return []

    def on_start(self, loop: AnyLoop) -> None:
        super().on_start(loop)
        self._draw(loop, "starting")

    def on_step_end(self, loop: AnyLoop) -> None:
        if monotonic() - self._drawn >= PAUSE:
            self.metrics |= loop.meter.read()
            self._draw(loop, self.left(loop))

    def on_epoch_end(self, loop: AnyLoop, record: Any) -> None:
        self.metrics = dict(record.metrics)
        self._draw(loop, self.left(loop))

    def on_select(self, loop: AnyLoop) -> None:
        self._draw(loop, self.waiting)

    def _draw(self, loop: AnyLoop, remark: str) -> None:
        plan, position = loop.plan, ""
        if plan.epochs:  # else nothing is trained
            epoch = min(loop.epoch + 1, plan.epochs)
            step = loop.step - (epoch - 1) * plan.steps
            position = f"epoch {epoch} of {plan.epochs}, step {step} of {plan.steps}, "
        head = [Text(position + remark, "bold"), Text(format_metrics(self.metrics)), Text()]
        width, height = self.terminal.size
        room = height - sum(len(line.wrap(self.terminal, width)) for line in head)
        self._live.update(Group(*head, *self.picture(room)), refresh=True)
        self._drawn = monotonic()

    def __enter__(self) -> Self:
        self._live.start()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._live.stop()


class SearchScreen(LiveDisplay):
    """A search: its metrics, and the cells that would be selected now."""

    waiting = "choosing the cell"

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self._groups: Groups = ()
        self._cells: list[Text] = []
        self._layout: tuple[Groups, int, int] | None = None
        self._updated = 0.0

    def on_start(self, loop: Searcher) -> None:
        self._update_choice(loop)
        super().on_start(loop)

    def on_step_end(self, loop: Searcher) -> None:
        if monotonic() - self._updated >= LOOK:
            self._update_choice(loop)
        super().on_step_end(loop)

    def on_epoch_end(self, loop: Searcher, record: Any) -> None:
        self._groups = record.genotype.groups
        self._updated = monotonic()
        super().on_epoch_end(loop, record)

    def _update_choice(self, searcher: Searcher) -> None:
        choice = current_choice(searcher)
        if choice is not None:
            self._groups, self.metrics["entropy"] = choice[0].groups, choice[1]
        self._updated = monotonic()

    def picture(self, room: int) -> list[Text]:
        """The cells, drawn again if they or the room for them have changed."""
        layout = self._groups, self.terminal.width, room
        if self._groups and layout != self._layout:
            self._layout, self._cells = layout, fit_cells(self._groups, self.terminal, room)
        return self._cells


class TrainScreen(LiveDisplay):
    """A training: its metrics, and a bar for the accuracy after each of the last epochs."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self._accuracies: list[float] = []
        self._part = ""

    def on_start(self, loop: AnyLoop) -> None:
        self._part = loop.measured_on
        rows, key = loop.run.metrics() if loop.run is not None else [], f"{self._part}_accuracy"
        self._accuracies = [row[key] for row in rows if key in row]
        super().on_start(loop)

    def on_epoch_end(self, loop: AnyLoop, record: Any) -> None:
        if record.evaluation is not None:
            self._accuracies.append(record.evaluation.top1)
        super().on_epoch_end(loop, record)

    def picture(self, room: int) -> list[Text]:
        """The bars and their range, if there is room."""
        if room < 2 or not self._accuracies:
            return []
        shown, levels = self._accuracies[-self.terminal.width :], self.terminal.glyphs.levels
        low, high, best = min(shown), max(shown), max(self._accuracies)
        scale = (len(levels) - 1) / (high - low) if high > low else 0.0
        bars = "".join(levels[round((accuracy - low) * scale)] for accuracy in shown)
        caption = f"{self._part} accuracy {low:.1%} to {high:.1%}, best so far {best:.1%}"
        return [Text(bars, "green"), Text(caption, "dim")]


def choose_display(
    *,
    quiet: bool,
    json: bool,
    live: type[LiveDisplay] | None = SearchScreen,
    lines: type[EpochLines] = EpochLines,
) -> Display:
    """The display for where the program writes; with `json` it leaves standard output alone.

    `live` is the display on a terminal, `lines` the one elsewhere, and there too if `live` is None.
    """
    if quiet or (json and not sys.stderr.isatty()):
        return Display()
    terminal = Terminal(stderr=json)
    if live is None or not terminal.is_live:
        return lines(terminal)
    return live(terminal)
