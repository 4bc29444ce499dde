"""The cells that a stage of trainings takes: from the runs of an earlier stage, or by name."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from dartboard.errors import (
    DartboardError,
    GenotypeError,
    OptionError,
    RunError,
    SpaceError,
    UnknownNameError,
)
from dartboard.runs import SPACE, RunReader
from dartboard.runs.lookup import data_of_run, find_genotype, home_of, space_name, space_of_run
from dartboard.search.config import SOURCE, SpaceChoice, build_space
from dartboard.space import GENOTYPE_FORMATS, PUBLISHED, load_space, sample
from dartboard.sweep.config import StageConfig
from dartboard.train.build import VALID

LONGEST = 200
"""Characters of what may be the path of a file."""
GUESS = "any-"
"""How labels begin of cells that stand for ones that are not found yet."""
LIKE_BEST = re.compile(r"\w+(?:\s+\S+)?\s+of\s+(\S+)")
"""What is `best of` a stage but for its spelling."""
BEST = re.compile(r"best(?:\s+(\d{1,6}))?\s+of\s+(\S+)")


@dataclass(frozen=True)
class SweepCell:
    """A cell that is trained.

    Args:
        label: What runs are called that train it.
        text: Its genotype, in JSON.
        space: The space whose stack it goes into, by name or file.
        stack: How many cells that has.
        images: The images it was searched with, as far as that is known.
        runs: Those that found it.
    """

    label: str
    text: str
    space: str
    stack: int
    images: Mapping[str, Any] = field(default_factory=dict)
    runs: Sequence[str] = ()


@dataclass(frozen=True)
class CellSource:
    """Where the cells of a stage come from.

    Args:
        stage: An earlier stage; None where they are named.
        best: So many of its best; None for all.
        names: What is named.
    """

    stage: str | None
    best: int | None = None
    names: tuple[str, ...] = ()


def source_of(name: str, stages: Mapping[str, StageConfig]) -> CellSource:
    """Where the cells of a stage come from.

    Raises:
        OptionError: If it does not say, or names a stage that does not come before it.
    """
    cells = stages[name].cells
    if not cells:
        raise OptionError(
            f"{name}: trainings need cells: a stage before it, best of one, or a list such as [darts-v2]"
        )
    if not isinstance(cells, str):
        return CellSource(None, names=cells)
    match = BEST.fullmatch(cells.strip())
    if match is not None:
        return _best(name, match, stages)
    if cells in stages:
        _check_before(name, cells, stages)
        return CellSource(cells)
    _check_meant(name, cells, _before(name, stages))
    return CellSource(None, names=(cells,))


def _before(name: str, stages: Mapping[str, StageConfig]) -> list[str]:
    return list(stages)[: list(stages).index(name)]


def _check_before(name: str, stage: str, stages: Mapping[str, StageConfig]) -> None:
    """Refuses a stage that does not come before this one."""
    before = _before(name, stages)
    if stage in before:
        return
    if stage in stages:
        when = "is this stage itself" if stage == name else "comes later"
        others = f"before it there is {', '.join(before)}" if before else "there is no stage before it"
        raise OptionError(f"{name}: cells: {stage} {when}; {others}")
    if not before:
        raise OptionError(f"{name}: cells: {stage}: there is no stage before it; name cells in a list")
    raise UnknownNameError(f"stage before {name}", stage, before)


def _check_meant(name: str, cells: str, before: Sequence[str]) -> None:
    """Refuses what is neither a stage nor a cell; what is wrong with a cell is told when it is read."""
    with suppress(GenotypeError, SpaceError, RunError):
        try:
            find_genotype(cells)
        except UnknownNameError:
            raise _unknown(name, cells, before) from None


def _unknown(name: str, cells: str, before: Sequence[str]) -> DartboardError:
    match = LIKE_BEST.fullmatch(cells.strip())
    if match is None:
        return UnknownNameError(f"stage before {name}, or published cell,", cells, [*before, *PUBLISHED])
    words = f"expected best of {match[1]}, best 3 of {match[1]}, or a list such as [darts-v2]"
    return OptionError(f"{name}: cells: {cells}: {words}")


def _best(name: str, match: re.Match[str], stages: Mapping[str, StageConfig]) -> CellSource:
    count, stage = int(match[1] or 1), match[2]
    _check_before(name, stage, stages)
    if not count:
        raise OptionError(f"{name}: cells: {match[0]}: expected at least 1, such as best 3 of {stage}")
    return CellSource(stage, count)


def named_cells(names: Sequence[str]) -> list[SweepCell]:
    """Cells by published names, runs, files or genotypes.

    Raises:
        DartboardError: If there is no such cell.
    """
    return [_named_cell(number, name) for number, name in enumerate(names)]


def _named_cell(number: int, name: str) -> SweepCell:
    genotype = find_genotype(name)
    space = space_of_run(name) or home_of(genotype)
    text, home = GENOTYPE_FORMATS["json"].encode(genotype), space_name(name, None, space)
    label = Path(name).stem if name in PUBLISHED or (len(name) < LONGEST and Path(name).exists()) else ""
    return SweepCell(label or f"cell-{number}", text, home, space.stack.cells, data_of_run(name))


def stand_in(config: Mapping[str, Any], number: int) -> SweepCell:
    """A cell that a search could find, to try things with before it has found one."""
    choice = SpaceChoice.model_validate(config["space"])
    space = build_space(choice)
    text = GENOTYPE_FORMATS["json"].encode(sample(space, Random(0)))
    return SweepCell(f"{GUESS}{number}", text, choice.name, space.stack.cells, _images(config))


def _images(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config["data"].items() if key in SOURCE}


def found_cells(runs: Mapping[str, RunReader]) -> list[SweepCell]:
    """The different cells that finished searches have found, in the order of these; by run the name.

    Cells that were searched with other images, or in another stack, are other ones.
    """
    found: dict[str, dict[str, Any]] = {}
    for name, run in runs.items():
        genotype = json.dumps((run.result() or {})["genotype"])
        stack = load_space(run.path / SPACE).stack.cells
        own = {"text": genotype, "space": run.config["space"]["name"], "stack": stack}
        own["images"] = _images(run.config)
        found.setdefault(json.dumps(own), {**own, "runs": []})["runs"].append(name)
    return [SweepCell(label=f"found-{number}", **own) for number, own in enumerate(found.values())]


def best_of(accuracies: Mapping[str, Sequence[float]], count: int, stage: str) -> list[str]:
    """The labels with the highest mean accuracy, the best first; of equal ones the first in order.

    Raises:
        RunError: If no run has one.
    """
    known = {label: fmean(own) for label, own in accuracies.items() if own}
    if not known:
        raise RunError(f"no run of {stage} came to its end, so none is the best; see its errors")
    return sorted(known, key=lambda label: -known[label])[:count]


def held_out_accuracy(run: RunReader) -> float | None:
    """What a finished run gets right of held-out images that are no test images; None if it did not say."""
    result = run.result() or {}
    found = result.get("valid_accuracy")
    if run.config.get("kind") == "train":
        found = result.get("last", {}).get(VALID, {}).get("top1")
    return float(found) if isinstance(found, int | float) else None


def to_plain(cells: Sequence[SweepCell]) -> list[dict[str, Any]]:
    """Cells as plain values."""
    return [asdict(own) for own in cells]
