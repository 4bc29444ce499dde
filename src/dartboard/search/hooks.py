"""Hooks of a search: their base class, and those that methods bring."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dartboard.engine.config import SCHEDULES
from dartboard.engine.hooks import LoopHook
from dartboard.errors import CompositionError, OptionError
from dartboard.nn.mixture import Live
from dartboard.space.graph import is_connected
from dartboard.space.spec import NONE, Cell

if TYPE_CHECKING:
    from dartboard.search.record import EpochRecord, SearchResult  # noqa: F401  # named by a base class below
    from dartboard.search.searcher import Searcher


class Hook(LoopHook["Searcher", "EpochRecord", "SearchResult"]):
    """Things to do at certain times of a search; see `LoopHook`."""


@dataclass(frozen=True)
class Temperature(Hook):
    """Anneals the temperature of samples from epoch to epoch (GDAS).

    While the architecture is frozen the temperature stays as it starts.

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
        plan = searcher.plan.at(searcher.epoch)
        fraction = max(searcher.epoch - plan.warmup, 0) / max(plan.epochs - 1 - plan.warmup, 1)
        relaxation: Any = searcher.relaxation  # it has a temperature: see `check`
        relaxation.temperature = SCHEDULES[self.schedule](self.start, self.end, fraction)


@dataclass(frozen=True)
class Exploration(Hook):
    """Mixes equal chances into what samples are drawn from (EXP3).

    Args:
        fraction: Their weight; `auto` takes EXP3's own, see `exploration_rate`.
    """

    fraction: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if self.fraction != "auto" and not 0 <= self.fraction < 1:
            raise OptionError(f"explore must be a number >= 0 and < 1, or auto, got {self.fraction!r}")

    def check(self, searcher: "Searcher") -> None:
        if not searcher.relaxation.has_exploration:
            raise CompositionError(
                f"exploration needs samples, and {type(searcher.relaxation).__name__} draws none by weights"
            )

    def on_epoch_start(self, searcher: "Searcher") -> None:
        fraction = self.fraction
        if fraction == "auto":
            most = max(cell.shape[1] for _, cell in searcher.space.groups)
            fraction = exploration_rate(most, searcher.plan.at(searcher.epoch).arch_steps)
        relaxation: Any = searcher.relaxation  # it has an exploration: see `check`
        relaxation.exploration = fraction


def exploration_rate(candidates: int, steps: int) -> float:
    """EXP3's weight of equal chances, sqrt(N ln N / ((e - 1) T)) (Auer et al. 2002, corollary 3.2).

    It minimizes the bound of the regret where only the reward of the candidate that was drawn is known. It is
    at most 1/2 here, where EXP3 has 1: draws that do not depend on the weights at all leave these where they
    are.

    Args:
        candidates: N.
        steps: T, the number of draws that are rewarded.
    """
    return min(0.5, math.sqrt(candidates * math.log(candidates) / ((math.e - 1) * max(steps, 1))))


@dataclass(frozen=True)
class Wipeout(Hook):
    """Removes candidates that the update has dropped: they are computed and trained no more (xnas 3.2).

    Dropped candidates have weight zero at once; asking which they are makes the host wait for the device, so
    it is done every few steps, always at the same ones. An edge in a contest keeps one op that is not `none`,
    and so do all edges of some path from the inputs to the output.

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
                if index in relaxation.live(group)[edge] and _spare(
                    cell, relaxation.live(group), edge, index
                ):
                    relaxation.kill(group, edge, index)
                    removed = True
        if removed:
            searcher.prune()


def _spare(cell: Cell, live: Live, edge: int, index: int) -> bool:
    """Whether a live candidate of an edge can go: what is left must make a cell that leads somewhere."""
    left = [tuple(cell.edges[e].ops[place] for place in places) for e, places in enumerate(live)]
    left[edge] = tuple(cell.edges[edge].ops[place] for place in live[edge] if place != index)
    if not left[edge] or (cell.contest_of(edge) is not None and set(left[edge]) == {NONE}):
        return False
    edges = tuple(replace(whole, ops=ops) for whole, ops in zip(cell.edges, left, strict=True))
    return is_connected(replace(cell, edges=edges))
