from pathlib import Path
from random import Random

import pytest

from dartboard.errors import DartboardError, GenotypeError, OptionError, RunError
from dartboard.runs import Run, RunReader
from dartboard.search.config import SpaceChoice, build_space
from dartboard.search.record import to_json
from dartboard.space import GENOTYPE_FORMATS, get_published, get_space, sample
from dartboard.sweep.cells import (
    CellSource,
    best_labels,
    cell_source,
    found_cells,
    held_out_accuracy,
    named_cells,
    placeholder_cell,
)
from dartboard.sweep.config import validate
from helpers.protocol_cases import few_digits
from helpers.sweep_cases import run_job, search_job


def stages(cells: object) -> dict[str, object]:
    return dict(validate({"stages": {"one": {}, "two": {"do": "train", "cells": cells}, "three": {}}}).parts)


@pytest.mark.parametrize(
    ("cells", "source"),
    [
        ("one", CellSource("one")),
        ("best of one", CellSource("one", 1)),
        ("best 3 of one", CellSource("one", 3)),
        ("random 5 of one", CellSource("one", random=5)),
        ("darts-v2", CellSource(None, names=("darts-v2",))),
        ("gone/cell.json", CellSource(None, names=("gone/cell.json",))),
        (["darts-v1", "darts-v2"], CellSource(None, names=("darts-v1", "darts-v2"))),
    ],
)
def test_where_cells_come_from(cells: object, source: CellSource) -> None:
    assert cell_source("two", stages(cells)) == source  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("best of three", "two: cells: three comes later; before it there is one"),
        ("three", "two: cells: three comes later; before it there is one"),
        ("two", "two: cells: two is this stage itself; before it there is one"),
        ("best 2 of two", "two: cells: two is this stage itself; before it there is one"),
        ("best of oen", "no stage before two called 'oen'; did you mean 'one'?"),
        ("onee", "no stage before two, or published cell, called 'onee'; did you mean 'one'?"),
        ("darts-v3", "no stage before two, or published cell, called 'darts-v3'; did you mean 'darts-v"),
        ("bset of one", "two: cells: bset of one: expected best of one, best 3 of one, or a list such as"),
        (
            "best three of one",
            "two: cells: best three of one: expected best of one, best 3 of one, or a list",
        ),
        ("best 0 of one", "two: cells: best 0 of one: expected at least 1, such as best 3 of one"),
        ("random 200000 of one", "two: cells: random 200000 of one: 200,000 cells are too many; at most 100"),
        ("random 5 of oen", "no stage before two called 'oen'; did you mean 'one'?"),
        ("random 0 of one", "two: cells: random 0 of one: expected at least 1, such as random 3 of one"),
        (
            "random five of one",
            "two: cells: random five of one: expected random 5 of one",
        ),
        ("randm of one", "two: cells: randm of one: expected random 5 of one"),
        ("randm time of on", "two: cells: randm time of on: expected random within the time of on"),
        (
            "random within the time of one",
            "two: cells: random within the time of one: expected a stage that trains the cells of a st",
        ),
        ([], "two: trainings need cells: a stage before it, best of one, or a list such as [darts-v2]"),
    ],
)
def test_cells_that_cannot_be(cells: object, words: str) -> None:
    with pytest.raises(DartboardError) as told:
        cell_source("two", stages(cells))  # type: ignore[arg-type]
    assert str(told.value).startswith(words)


def test_the_first_stage_has_none_before_it() -> None:
    alone = validate({"do": "train", "cells": "best of one"}).parts
    with pytest.raises(OptionError, match="train: cells: one: there is no stage before it; name cells"):
        cell_source("train", alone)
    first = validate({"stages": {"a": {"do": "train", "cells": "b"}, "b": {}}}).parts
    with pytest.raises(OptionError, match="a: cells: b comes later; there is no stage before it"):
        cell_source("a", first)


def test_random_cells_of_trainings() -> None:
    values = {"one": {}, "two": {"do": "train", "cells": "one"}}

    def source(cells: str) -> CellSource:
        three = {"do": "train", "cells": cells, "cells_seed": 3}
        return cell_source("three", validate({"stages": {**values, "three": three}}).parts)

    assert source("random within the time of two") == CellSource("two", random="time", seed=3)
    assert source("random 2 of one") == CellSource("one", random=2, seed=3)
    with pytest.raises(OptionError, match="random 2 of two: expected a stage of searches, whose spaces"):
        source("random 2 of two")
    values["two"]["cells"] = "random 4 of one"
    with pytest.raises(OptionError, match="expected a stage that trains the cells of a stage of searches"):
        source("random within the time of two")


def test_the_best_are_so_in_the_mean() -> None:
    scores = {"a": [0.5, 0.7], "b": [0.9], "c": [0.6], "d": []}
    assert best_labels(scores, 1, "two") == ["b"]
    assert best_labels(scores, 9, "two") == ["b", "a", "c"]  # of equal ones the first
    with pytest.raises(RunError, match="no run of two came to its end"):
        best_labels({"d": []}, 1, "two")


def test_cells_by_name_run_file_and_text(tmp_path: Path) -> None:
    job = search_job(tmp_path, few_digits(tmp_path / "few.npz"))
    assert run_job(job).state == "finished"
    text = GENOTYPE_FORMATS["json"].encode(get_published("gdas"))
    (tmp_path / "own.json").write_text(text)
    found = named_cells(["darts-v2", str(job.path), str(tmp_path / "own.json"), text])
    assert [cell.label for cell in found] == ["darts-v2", "darts-s0", "own", "cell-3"]
    assert [cell.space for cell in found] == ["darts", "nano", "darts", "darts"]
    assert found[1].images["name"] == job.config["data"]["name"]
    assert found[2].text == found[3].text == text


def finished(path: Path, seed: int, size: int | None = None) -> RunReader:
    space = get_space("nano")
    config = {"kind": "search", "space": {"name": "nano"}, "data": {"name": "digits", "size": size, "pad": 1}}
    with Run.create(path, config, space=space) as run:
        run.finish({"genotype": to_json(sample(space, Random(seed))), "valid_accuracy": 0.25})
    return RunReader.read(path)


def test_equal_cells_are_one(tmp_path: Path) -> None:
    runs = {name: finished(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 2), ("c", 1))}
    runs["d"] = finished(tmp_path / "d", 1, size=16)
    cells = found_cells(runs)
    assert [(cell.label, list(cell.runs)) for cell in cells] == [
        ("found-0", ["a", "c"]),
        ("found-1", ["b"]),
        ("found-2", ["d"]),
    ]
    assert cells[0].images == {"name": "digits", "size": None}
    assert (cells[0].space, cells[0].stack) == ("nano", get_space("nano").stack.cells)
    assert held_out_accuracy(runs["a"]) == 0.25


def test_a_cell_that_a_search_could_find() -> None:
    config = {"space": {"name": "nb201", "cells": 2, "without": ["none"]}, "data": {"name": "digits"}}
    space = build_space(SpaceChoice.model_validate(config["space"]))
    cell = placeholder_cell(config, space, 3)
    assert (cell.label, cell.space, cell.stack, cell.images) == ("any-3", "nb201", 2, {"name": "digits"})
    assert "none" not in cell.text


def test_dead_cells_are_refused() -> None:
    with pytest.raises(
        GenotypeError, match="nothing leads from the inputs to the output of the cell, so that"
    ):
        named_cells(["|none~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|none~2|"])
