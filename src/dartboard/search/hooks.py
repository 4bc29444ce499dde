"""Hooks of a search: their base class, and those that methods bring."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dartboard.engine.config import SCHEDULES
from dartboard.engine.hooks import LoopHook
from dartboard.errors import CompositionError, OptionError
from dartboard.space.spec import NONE

if TYPE_CHECKING:
    from dartboard.search.record import EpochRecord, SearchResult  # noqa: F401  # named by a base class below
    from dartboard.search.searcher import Searcher


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
        every: Number of steps from one look to the next; the end of an epoch is one too.
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
