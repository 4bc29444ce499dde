"""Progress of long work: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from dartboard.cli.render import Terminal
from dartboard.utils import progress as progress_callback

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


PATIENCE = 1.0
"""Seconds before anything is shown: shorter work needs no bar."""
BETWEEN = 5.0
"""Seconds between two lines where there is no terminal."""
REFRESH = 0.1
"""Seconds between two changes of a bar."""


class View(Protocol):
    """Shows progress."""

    def show(self, what: str, done: int, total: int) -> None:
        """Show progress, if the last update is old enough."""

    def close(self) -> None:
        """Remove what is shown."""


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[progress_callback.Progress]:
    """Inside, a callback that shows progress on standard error once the work takes a while.

    Args:
        quiet: Show nothing.
    """
    if quiet:
        yield lambda what, done, total: None  # noqa: ARG005
        return
    terminal = Terminal(stderr=True)
    view: View = ProgressBar(terminal) if terminal.is_terminal else ProgressLines()
    started = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        if time.monotonic() - started >= PATIENCE:
            view.show(what, done, total)

    try:
        yield report
    finally:
        view.close()


class ProgressLines:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, what: str, done: int, total: int) -> None:
        """Print a line if the last is old enough."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + BETWEEN
            print(f"{what}: {_fraction(done, total)}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left open."""


def _fraction(done: int, total: int) -> str:
    return f"{min(done / total, 1):.0%}" if total else f"{done:,}"


class ProgressBar:
    """A bar that is removed when the work is done."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._progress: Progress | None = None
        self._task: tuple[str, TaskID] | None = None
        self._next = 0.0

    def show(self, what: str, done: int, total: int) -> None:
        """Move the bar, or begin another one for other work."""
        bars = self._open()
        if self._task is None or self._task[0] != what:
            if self._task is not None:
                bars.remove_task(self._task[1])
            self._task = what, bars.add_task(what)
        elif time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REFRESH
        bars.update(self._task[1], completed=done, total=total or None)

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()

    def _open(self) -> "Progress":
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        if self._progress is None:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=self._terminal, transient=True)
            self._progress.start()
        return self._progress
