"""What is seen of a search or a training while it runs: a live display, plain lines, or nothing."""

import logging
import re
import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from dartboard.cli.render import Archs, Terminal, fit_cells, format_metrics, sparkline
from dartboard.search.health import mean_entropy, measure
from dartboard.search.hooks import LoopHook
from dartboard.search.searcher import Searcher
from dartboard.search.select import FromStrengths, strongest
from dartboard.space import Genotype
from dartboard.utils.text import span

AnyLoop = Any  # a `Loop`; displays of one kind of loop know it better

PAUSE = 0.25  # seconds between two looks: each waits for the device
LOOK = 5.0  # seconds between two looks at the strengths, which wait once more


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


class Display(LoopHook[Any, Any, Any]):
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

    def on_start(self, loop: AnyLoop) -> None:
        self._start = monotonic(), loop.step

    def left(self, loop: AnyLoop) -> str:
        """How long it will take from here, by the pace so far."""
        assert self._start is not None  # noqa: S101  # `on_start` has seen to it
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


class _Notes(logging.Handler):
    """Hands warnings to a display."""

    def __init__(self, display: Display) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.note(record.getMessage())


class Changes(LoopHook[Any, Any, Any]):
    """Says on standard error what goes on differently than before, if there is more to come."""

    def on_start(self, loop: AnyLoop) -> None:
        if loop.changed and loop.epoch < loop.plan.epochs:
            sys.stderr.write(f"dartboard: {loop.changed}\n")


class Lines(Display):
    """One plain line an epoch."""

    shows = True

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal

    def say(self, lines: list[str]) -> None:
        self.terminal.write(lines)

    def on_epoch_end(self, loop: AnyLoop, record: Any) -> None:
        epochs = loop.plan.epochs
        place = f"epoch {loop.epoch:{len(str(epochs))}} of {epochs}"
        self.say([f"{place}  {format_metrics(record.metrics)}  {self.left(loop)}"])


class Moving(Display):
    """A display that is drawn anew several times a second: where the loop is, its numbers, a picture.

    Args:
        terminal: Where.
    """

    shows = True
    waiting = "measuring"
    """What happens after the last epoch, in words."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal
        self.metrics: dict[str, Any] = {}
        self._live = Live(console=terminal, auto_refresh=False, transient=True)
        self._drawn = 0.0

    def picture(self, room: int) -> list[Text]:  # noqa: ARG002
        """What is drawn below the numbers, in at most so many lines."""
        return []

    def say(self, lines: list[str]) -> None:
        self.terminal.write(lines)

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
        head = [Text(_place(loop) + remark, "bold"), Text(format_metrics(self.metrics)), Text()]
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


class Screen(Moving):
    """A search: its numbers, and the cells that would be chosen now."""

    waiting = "choosing the cell"

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal)
        self._archs: Archs = ()
        self._cells: list[Text] = []
        self._layout: tuple[Archs, int, int] | None = None
        self._looked = 0.0

    def on_start(self, loop: Searcher) -> None:
        self._look(loop)
        super().on_start(loop)

    def on_step_end(self, loop: Searcher) -> None:
        if monotonic() - self._looked >= LOOK:
            self._look(loop)
        super().on_step_end(loop)

    def on_epoch_end(self, loop: Searcher, record: Any) -> None:
        self._archs = record.genotype.archs
        self._looked = monotonic()
        super().on_epoch_end(loop, record)

    def _look(self, searcher: Searcher) -> None:
        choice = current_choice(searcher)
        if choice is not None:
            self._archs, self.metrics["entropy"] = choice[0].archs, choice[1]
        self._looked = monotonic()

    def picture(self, room: int) -> list[Text]:
        """The cells, drawn again if they are others or the room for them is."""
        layout = self._archs, self.terminal.width, room
        if self._archs and layout != self._layout:
            self._layout, self._cells = layout, fit_cells(self._archs, self.terminal, room)
        return self._cells


def _place(loop: AnyLoop) -> str:
    """How far a loop has come, with a comma; nothing where nothing is trained."""
    plan = loop.plan
    epoch = min(loop.epoch + 1, plan.epochs)
    step = loop.step - (epoch - 1) * plan.steps
    return f"epoch {epoch} of {plan.epochs}, step {step} of {plan.steps}, " if plan.epochs else ""


def choose_display(*, quiet: bool, json: bool, screen: type[Moving] = Screen) -> Display:
    """The display for where the program writes; JSON leaves standard output alone.

    Args:
        quiet: Whether nothing shall be seen.
        json: Whether standard output is for JSON.
        screen: What moves, where something can.
    """
    if quiet or (json and not sys.stderr.isatty()):
        return Display()
    terminal = Terminal(stderr=json)
    moves = terminal.is_terminal and not terminal.is_dumb_terminal
    return screen(terminal) if moves else Lines(terminal)


class RunLines(Lines):
    """One plain line for each epoch of each run inside, with the name of the run."""

    def on_epoch_end(self, loop: Any, record: Any) -> None:
        epochs = loop.plan.epochs
        place = f"{_name(loop)}  epoch {loop.epoch:{len(str(epochs))}} of {epochs}"
        self.say([f"{place}  {format_metrics(record.metrics)}  {self.left(loop)}"])

    def on_end(self, loop: Any, result: Any) -> None:
        self.say([f"{_name(loop)}  done in {span(result.seconds)}"])


def _name(loop: Any) -> str:
    """The directory of a run inside the protocol's."""
    return "/".join(loop.run.path.parts[-2:])


def choose_lines(*, quiet: bool, json: bool) -> Display:
    """The display for where the program writes; JSON leaves standard output alone.

    Args:
        quiet: Whether nothing shall be seen.
        json: Whether standard output is for JSON.
    """
    if quiet or (json and not sys.stderr.isatty()):
        return Display()
    return RunLines(Terminal(stderr=json))


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
        blocks = sparkline(shown, self.terminal.glyphs.levels)
        return [Text(blocks, "green"), Text(words, "dim")]
