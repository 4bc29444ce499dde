"""From run directories to what a report is about; everything is read, nothing is computed again."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dartboard.analysis.trajectory import settings_of
from dartboard.errors import DartboardError, RunError
from dartboard.relax import RELAXATIONS
from dartboard.report.models import Material, Member, Moment, Origin, ProtocolFound, SearchFound, TrainFound
from dartboard.report.sweeps import members_of
from dartboard.runs import SPACE, Run, find_runs, is_run
from dartboard.runs.directory import SWEEP
from dartboard.scoreboard.store import CONFIG as BENCH
from dartboard.search import make_method
from dartboard.space import Genotype, SearchSpace, decode, load_space

GROUPS = {BENCH: "bench", SWEEP: "sweep"}
"""Directories of many runs, by the file that makes them such."""
STAGES = ("search", "final")
"""The folders of a protocol whose runs are shown."""
DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What files that were changed by hand give rise to."""


def gather(paths: Sequence[str | Path]) -> Material:
    """All that is known of runs, and of what belongs to them: runs of protocols, trainings of found cells.

    Args:
        paths: Directories of runs of any kind, of benches or of sweeps; one that is named twice counts once.

    Raises:
        RunError: If there are none, one is no run, or one is damaged.
    """
    if not paths:
        raise RunError("no runs to report on; name the directories of some")
    inside = {own.resolve(): member for path in paths for own, member in _inside(Path(path)).items()}
    runs = [run for path, member in inside.items() if (run := _read(path, member)) is not None]
    protocols = [run for run in runs if _kind(run) == "protocol"]
    runs = list({run.path: run for run in (*runs, *_inner(protocols))}.values())
    whole = {run.path: own for run in runs if (own := _found(run, inside.get(run.path))) is not None}
    searches = [own for own in whole.values() if isinstance(own, SearchFound)]
    trainings = {path: own for path, own in whole.items() if isinstance(own, TrainFound)}
    for search in searches:
        trainings |= {
            own.origin.path: own for own in trainings_of(search) if own.origin.path not in trainings
        }
    found = [ProtocolFound(_origin(run), run.result()) for run in protocols]
    return Material(searches, list(trainings.values()), found)


def runs_in(path: Path) -> list[Path]:
    """The directory itself, or the runs of the bench or the sweep that it is."""
    return list(_inside(path))


def _inside(path: Path) -> dict[Path, Member | None]:
    """As `runs_in`, with what a sweep says of its runs."""
    kind = next((word for name, word in GROUPS.items() if (path / name).is_file()), None)
    if is_run(path) or kind is None:
        return {path: None}
    found = members_of(path) if kind == "sweep" else dict.fromkeys(find_runs(path / "runs"))
    if not found:
        raise RunError(f"{path} is a {kind} that has no runs to report on")
    return found


def _read(path: Path, member: Member | None) -> Run | None:
    """A run; None if it is damaged, which its sweep knows."""
    try:
        return Run.read(path)
    except RunError:
        if member is None or member.state != "failed":
            raise
        return None


def _found(run: Run, member: Member | None) -> SearchFound | TrainFound | None:
    """What is in a run; None if it is damaged, which its sweep knows, or neither a search nor a training."""
    read = {"search": _search, "train": _training}.get(_kind(run))
    try:
        own: SearchFound | TrainFound | None = None if read is None else _careful(read, run)
    except RunError:
        if member is None or member.state != "failed":
            raise
        return None
    return None if own is None else replace(own, origin=replace(own.origin, member=member))


def _kind(run: Run) -> str:
    return str(run.config.get("kind", "search"))


def _inner(protocols: Iterable[Run]) -> Iterator[Run]:
    """The searches of protocols, and the trainings of their last stage."""
    for run in protocols:
        for stage in STAGES:
            paths = sorted((run.path / stage).glob("*"))
            yield from (Run.read(path) for path in paths if is_run(path))


def trainings_of(search: SearchFound) -> Iterator[TrainFound]:
    """Trainings beside a search that are named after it and train what it found."""
    start, named = f"train-{search.path.name}-", []
    with suppress(OSError):  # a folder may let people enter and not look around
        named = sorted(path for path in search.path.parent.iterdir() if path.name.startswith(start))
    for path in named if search.genotype is not None else ():
        with suppress(DartboardError):  # what was not asked for does not spoil what was
            run = Run.read(path)
            if _kind(run) == "train" and (found := _careful(_training, run)).genotype == search.genotype:
                yield found


def _careful(read: Any, run: Run) -> Any:
    """What is read from a run; RunError, with its name, if it is damaged."""
    try:
        return read(run)
    except DAMAGED as error:
        raise RunError(f"{run.path} has files that cannot be read: {error!r}") from None


def _origin(run: Run) -> Origin:
    return Origin(run.path, _kind(run), run.config, run.environment(), run.state)


def _search(run: Run) -> SearchFound:
    space = load_space(run.path / SPACE)
    moments = [_moment(space, row, run.epoch(row["epoch"])) for row in run.metrics()]
    result = run.result()
    last = moments[-1].genotype if moments else None
    return SearchFound(
        origin=_origin(run),
        settings=settings_of(run),
        space=space,
        moments=moments,
        result=result,
        genotype=last if result is None else _genotype(result["genotype"]),
        attends=_attends(run),
    )


def _moment(space: SearchSpace, row: dict[str, Any], details: dict[str, Any]) -> Moment:
    strengths = details["strengths"]
    ops, edges = ({arch: np.array(strengths[arch][key]) for arch in space.cells} for key in ("ops", "edges"))
    for arch, cell in space.archs:
        if ops[arch].shape != cell.shape or edges[arch].shape != (len(cell.edges),):
            raise ValueError(f"epoch {row['epoch']} has strengths of another shape")
    return Moment(row["epoch"] + 1, row, _genotype(details["genotype"]), ops, edges)


def _genotype(values: Any) -> Genotype:
    return decode(json.dumps(values))


def _attends(run: Run) -> bool:
    """Whether the strengths of a search are means of attention; no if its method is not known here."""
    given = dict(run.config.get("method") or {})
    with suppress(DartboardError):
        return make_method(str(given.pop("name", "")), given).relax is RELAXATIONS["attention"]
    return False


def _training(run: Run) -> TrainFound:
    genotype, space = decode(run.config["cell"]), load_space(run.path / SPACE)
    return TrainFound(_origin(run), genotype, space, run.metrics(), run.result())
