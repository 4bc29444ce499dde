"""What decisions.json of a sweep says: which runs were dropped at a rung, and which cells a stage took."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dartboard.errors import RunError
from dartboard.sweep.cells import SweepCell
from dartboard.sweep.config import StopRule
from dartboard.sweep.protocol.decisions import NAME, Decisions

CHANGED = "it was changed after it was written"
ELSEWHERE = "name another directory with --out"


@dataclass(frozen=True)
class RungDecision:
    """How the runs of a stage were compared.

    Args:
        keep: How many were to go further.
        accuracies: Of those that got there; None where a method trains nothing.
        dropped: Why some go no further, those that came late among them.
        failed: Why some had not got there.
        late: Those of them that have got there since.
    """

    keep: int
    accuracies: Mapping[str, float | None]
    dropped: Mapping[str, str]
    failed: Mapping[str, str]
    late: Sequence[str]


@dataclass(frozen=True)
class CellsDecision:
    """Which cells a stage took.

    Args:
        among: The runs of the stage before.
        finished: Those of them that were finished.
        cells: What is trained.
        best: So many of the best were asked for; None for all.
    """

    among: Sequence[str]
    finished: Sequence[str]
    cells: Sequence[SweepCell]
    best: int | None


def key_of(stage: str, epochs: int) -> str:
    """What a comparison is called."""
    return f"{stage} after {epochs}"


def late_key(stage: str, epochs: int, run: str) -> str:
    """What the judgement of a run is called that came after the comparison."""
    return f"{key_of(stage, epochs)}: {run}"


def cells_key(stage: str) -> str:
    """What the choice of the cells of a stage is called."""
    return f"cells of {stage}"


def read_rung(decisions: Decisions, stage: str, epochs: int) -> RungDecision | None:
    """How the runs of a stage were compared; None if they were not yet.

    Raises:
        RunError: If the file says something else than that.
    """
    key = key_of(stage, epochs)
    found = decisions.get(key)
    if found is None:
        return None
    accuracies = _field(found, key, "accuracies", _are(int, float, type(None)))
    dropped, failed = (_field(found, key, name, _are(str)) for name in ("dropped", "failed"))
    late: dict[str, str | None] = {}
    for own in failed:
        if (said := decisions.get(late_key(stage, epochs, own))) is not None:
            late[own] = _field(said, late_key(stage, epochs, own), "reason", _is(str, type(None)))
    more = {own: reason for own, reason in late.items() if reason is not None}
    keep = _field(found, key, "keep", _is(int))
    return RungDecision(keep, accuracies, {**dropped, **more}, failed, list(late))


def read_cells(decisions: Decisions, stage: str) -> CellsDecision | None:
    """Which cells a stage took; None if it took none yet.

    Raises:
        RunError: If the file says something else than that.
    """
    key = cells_key(stage)
    found = decisions.get(key)
    if found is None:
        return None
    among = _field(found, key, "among", _list_of(str))
    finished = _field({"finished": among, **found}, key, "finished", _list_of(str))
    cells = _field(found, key, "cells", _list_of(dict))
    best = _field(found, key, "best", _is(int, type(None)))
    try:
        return CellsDecision(among, finished, [SweepCell(**own) for own in cells], best)
    except TypeError:
        raise RunError(f"{NAME}: {key!r} has a cell that is none; {CHANGED}") from None


def check_rungs(decisions: Decisions, stage: str, stop: StopRule, names: Sequence[str]) -> None:
    """Refuses runs that were not there when others were compared, and the lack of some that were.

    Raises:
        RunError: Names one; or says that other numbers of them were kept.
    """
    alive = list(names)
    for epochs in stop.after:
        taken = read_rung(decisions, stage, epochs)
        if taken is None:
            return
        if taken.keep != stop.keep:
            raise RunError(
                f"the runs of {stage} were compared after {epochs} epochs already, to keep {taken.keep} and "
                f"not {stop.keep}; {ELSEWHERE}"
            )
        new = [own for own in alive if own not in taken.accuracies and own not in taken.failed]
        gone = [own for own in taken.accuracies if own not in alive]
        gone += [own for own in taken.failed if own not in names]
        if new or gone:
            raise RunError(
                f"the runs of {stage} were compared after {epochs} epochs already, and {[*new, *gone][0]} "
                f"makes a difference to that; {ELSEWHERE}"
            )
        alive = [own for own in alive if own not in taken.dropped]


def dropped_in(decisions: Decisions, stage: str, after: Sequence[int]) -> set[str]:
    """The names of the runs of a stage that go no further."""
    found = (read_rung(decisions, stage, epochs) for epochs in after)
    return {own for taken in found if taken is not None for own in taken.dropped}


def _field(found: Any, key: str, name: str, fits: Callable[[Any], bool]) -> Any:
    """A part of a decision."""
    if not isinstance(found, Mapping) or name not in found or not fits(found[name]):
        raise RunError(f"{NAME}: {key!r} does not say {name} as it should; {CHANGED}")
    return found[name]


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _are(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(isinstance(own, kinds) for own in value.values())


def _list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(own, kind) for own in value)
