from dataclasses import replace
from pathlib import Path
from typing import Any

from dartboard.report.load import load_runs
from dartboard.report.sections.cell import CLOSE, FINE_SCALE, SCALE, replay_search, still_frame
from dartboard.space import Cell, get_space
from dartboard.space.genotype import decisions
from dartboard.viz.svg import svg_cell
from helpers.report_runs import found_cell, make_search


def test_frames_are_the_strengths_and_choices_of_the_epochs(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", "darts", epochs=3)
    (search,) = load_runs([run.path]).searches
    made: Any = replay_search(search)
    assert made["epochs"] == [1, 2, 3]
    assert made["words"] == ["epoch 1", "epoch 2", "epoch 3", "final choice"]
    assert made["left_out"] == 0
    frame, moment = made["frames"][1]["normal"], search.epochs[1]
    told = run.epoch(1)["strengths"]["normal"]
    assert frame["ops"] == [[round(SCALE * own) for own in row] for row in told["ops"]]
    assert frame["edges"] == [SCALE] * 14
    taken = decisions(search.space, moment.genotype)["normal"]
    ops = search.space.cells["normal"].edges
    chosen = {index: ops[index].ops[place] for index, place in enumerate(frame["chosen"]) if place >= 0}
    assert chosen == taken


def test_epochs_are_left_out_where_there_are_too_many(tmp_path: Path) -> None:
    (search,) = load_runs([make_search(tmp_path / "s", epochs=20, finish=False).path]).searches
    size = sum(len(edge.ops) for edge in search.space.cells["cell"].edges)
    replay = replay_search(search, 5 * size)
    assert replay["epochs"] == [1, 6, 11, 15, 20]
    assert (len(replay["frames"]), replay["left_out"]) == (5, 15)
    assert replay_search(search, 1)["epochs"] == [1, 20]
    assert replay_search(replace(search, epochs=[]), 1)["epochs"] == []


def test_strengths_that_are_close_are_told_finely(tmp_path: Path) -> None:
    (search,) = load_runs([make_search(tmp_path / "s", epochs=3).path]).searches
    assert replay_search(search)["scale"] == SCALE
    near = [replace(own, ops={"cell": 0.2 + own.ops["cell"] * CLOSE / 2}) for own in search.epochs]
    made: Any = replay_search(replace(search, epochs=near))
    assert made["scale"] == FINE_SCALE
    told = [[round(FINE_SCALE * own) for own in row] for row in near[1].ops["cell"].tolist()]
    assert made["frames"][1]["cell"]["ops"] == told
    assert made["frames"][1]["cell"]["edges"] == [FINE_SCALE] * 3
    size = sum(len(edge.ops) for edge in search.space.cells["cell"].edges)
    assert replay_search(search, 3 * size)["left_out"] == 0
    assert replay_search(replace(search, epochs=near), 3 * size)["left_out"] == 1


def test_a_discrete_cell_has_all_its_edges(tmp_path: Path) -> None:
    made: Any = still_frame(found_cell(make_search(tmp_path / "s", "darts")))
    for group in made["groups"]:
        assert made["frames"][0][group["name"]]["chosen"] == [0] * 8
        assert len([own for own in group["plan"]["lines"] if own["edge"] is not None]) == 8


def test_a_cell_that_has_nothing_to_choose() -> None:
    cell = get_space("darts").cells["normal"]
    bare = Cell(cell.inputs, 3, tuple(edge for edge in cell.edges if edge.target == 2), output=(2,))
    assert [own["words"] for own in svg_cell(bare)["boxes"]][-1] == "out"
