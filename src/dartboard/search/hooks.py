"""Hooks of a search: a base class of no-ops, and the hooks of methods."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dartboard.engine.config import SCHEDULES
from dartboard.errors import CompositionError, OptionError
from dartboard.space.spec import NONE

if TYPE_CHECKING:
    from dartboard.search.record import EpochRecord, SearchResult  # noqa: F401  # named by a base class below
    from dartboard.search.searcher import Searcher


L = TypeVar("L")
R = TypeVar("R")
E = TypeVar("E")


class LoopHook(Generic[L, R, E]):
    """Things to do at certain times of a search or a training; what is raised stops it.

    A hook that changes the loop must do so by what it reads from the loop alone, so that one that was killed
    and resumed goes the same way.
    """

    def check(self, loop: L) -> None:
        """When the parts are put together; raises a CompositionError if this hook does not fit them."""

    def on_start(self, loop: L) -> None:
        """Before the first step of this process, after the state of an earlier one has been loaded."""

    def on_epoch_start(self, loop: L) -> None:
        """Before the first step of an epoch; again when a process goes on in the middle of it."""

    def on_step_end(self, loop: L) -> None:
        """After each step, when `loop.step` counts it already."""

    def on_epoch_end(self, loop: L, record: R) -> None:
        """After each epoch, when it has been measured and recorded."""

    def on_select(self, loop: L) -> None:
        """After the last epoch, before the final selection or measurement, which may take a while."""

    def on_end(self, loop: L, result: E) -> None:
        """When all is done and written."""


AnyHook = LoopHook[Any, Any, Any]


class Hook(LoopHook["Searcher", "EpochRecord", "SearchResult"]):
    """Things to do at certain times of a search; see `LoopHook`."""


@dataclass(frozen=True)
class Temperature(Hook):
    """Anneals the temperature of samples from epoch to epoch (GDAS).

    Args:
        start: In the first epoch.
        end: In the last epoch.
        schedule: How it goes from one to the other.
    """

    start: float = 10.0
    end: float = 0.1
    schedule: str = "linear"

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise OptionError(f"the temperature at the {name} must be a number > 0, got {value!r}")
        SCHEDULES[self.schedule]  # fail fast on an unknown schedule

    def check(self, searcher: "Searcher") -> None:
        if not searcher.relaxation.has_temperature:
            raise CompositionError(
                f"a temperature needs samples, and {type(searcher.relaxation).__name__} draws none by it"
            )

    def on_epoch_start(self, searcher: "Searcher") -> None:
        fraction = searcher.epoch / max(searcher.plan.epochs - 1, 1)
        relaxation: Any = searcher.relaxation  # it has a temperature: see `check`
        relaxation.temperature = SCHEDULES[self.schedule](self.start, self.end, fraction)


@dataclass(frozen=True)
class Wipeout(Hook):
    """Removes candidates that the update has dropped: they are computed and trained no more (xnas 3.2).

    Dropped candidates have weight zero at once; asking which they are makes the host wait for the device, so
    it is done every few steps, always at the same ones. An edge in a contest keeps one op that is not `none`.

    Args:
        every: Every so many steps, and at the end of epochs.
    """

    every: int = 10

    def __post_init__(self) -> None:
        if self.every < 1:
            raise OptionError(f"wipeout looks every 1 or more steps, not every {self.every}")

    def check(self, searcher: "Searcher") -> None:
        if not hasattr(searcher.update, "dropped"):
            raise CompositionError(
                f"wipeout needs an update that drops candidates; {type(searcher.update).__name__} does not"
            )

    def on_step_end(self, searcher: "Searcher") -> None:
        if searcher.step % self.every and searcher.step % searcher.plan.steps:
            return
        relaxation, removed = searcher.relaxation, False
        update: Any = searcher.update  # it has `dropped`, the edges and ops of each group: see `check`
        for (group, cell), dropped in zip(searcher.space.groups, update.dropped(), strict=True):
            for edge, index in dropped:
                live = relaxation.live(group)[edge]
                left = {cell.edges[edge].ops[other] for other in live if other != index}
                if index in live and (left - {NONE} or (left and cell.contest_of(edge) is None)):
                    relaxation.kill(group, edge, index)
                    removed = True
        if removed:
            searcher.prune()
