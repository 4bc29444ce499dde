"""What people see of a bench while it runs: a line at its start, and one a search."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from dartboard.cli.words import span

if TYPE_CHECKING:
    from dartboard.cli.display import Display
    from dartboard.scoreboard.config import BenchConfig
    from dartboard.scoreboard.runner import Outcome


def plan(config: "BenchConfig", count: int, missing: int, device: str) -> str:
    """What a bench is about to do.

    Args:
        config: The bench.
        count: How many searches it has.
        missing: How many of them are still to do.
        device: Where.
    """
    from dartboard.scoreboard.jobs import common

    search, searches = common(config), "1 search" if count == 1 else f"{count} searches"
    what = f"{searches} of {search.space.name} on {search.data.name}, on {device}"
    return what if missing == count else f"{what}: {count - missing} done, {missing} to do"


def follow(outcomes: "Iterator[Outcome]", display: "Display", count: int) -> dict[str, str]:
    """Shows what comes; why searches failed, by name."""
    failed, tally = {}, Tally(count)
    for outcome in outcomes:
        display.say([tally.line(outcome)])
        if outcome.failure is not None:
            failed[outcome.job.name] = outcome.failure
    return failed


@dataclass
class Tally:
    """Counts searches as they end.

    Args:
        left: How many there are.
    """

    left: int

    def __post_init__(self) -> None:
        self._start, self._done = monotonic(), 0

    def line(self, outcome: "Outcome") -> str:
        """What came of one more, how many are left, and for how long by the pace so far."""
        self._done, self.left = self._done + 1, self.left - 1
        pace = (monotonic() - self._start) / self._done
        ahead = f"{self.left} left, {span(pace * self.left)}" if self.left else "none left"
        return f"{outcome.job.label}  seed {outcome.job.seed}  {_words(outcome)}  {ahead}"


def _words(outcome: "Outcome") -> str:
    if outcome.busy:
        return "being done by another process"
    if outcome.record is None:
        return f"failed: {outcome.failure}"
    final = outcome.record.final
    dataset, test = next(iter(final.test.items()))
    time = "" if final.seconds is None else f"  {span(final.seconds)}"
    return f"{final.epoch} epoch{'' if final.epoch == 1 else 's'}  {dataset} {test:.2%}{time}"
