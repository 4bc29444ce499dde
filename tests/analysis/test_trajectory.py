import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dartboard.analysis.trajectory import (
    QUANTITIES,
    YLABELS,
    common_band,
    entropies,
    group_labels,
    margins,
    mean_normalized_entropy,
    normalized_entropies,
    read_trajectories,
    read_trajectory,
)
from dartboard.errors import RunError, SpaceError
from dartboard.runs import Run, load_run
from dartboard.search.health import entropies as torch_entropies
from dartboard.space import get_space
from dartboard.space.spec import Cell, Edge
from helpers.search_runs import search_runs

pytestmark = pytest.mark.usefixtures("one_thread")
CELL = Cell(1, 3, (Edge(0, 1, ("a", "b", "c")), Edge(0, 2, ("a",)), Edge(1, 2, ("a", "b"))), output=(2,))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return search_runs(
        tmp_path_factory.mktemp("runs"), "gaea-darts", method={"name": "gaea-darts", "lr": 5.0}
    )


def test_equations_54_and_55_by_hand() -> None:
    ops = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0]])
    first = -(0.5 * math.log(0.5) + 2 * 0.25 * math.log(0.25)) / math.log(3)
    last = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1)) / math.log(2)
    np.testing.assert_allclose(normalized_entropies(CELL, ops), [first, last])
    assert mean_normalized_entropy(CELL, ops) == pytest.approx((first + last) / 2)
    np.testing.assert_allclose(margins(CELL, ops), [0.25, 0.8])


def test_equal_strengths_have_one_and_decided_ones_zero() -> None:
    equal = np.array([[1 / 3] * 3, [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert mean_normalized_entropy(CELL, equal) == pytest.approx(1.0)
    decided = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert mean_normalized_entropy(CELL, decided) == 0.0


def test_a_cell_without_a_choice() -> None:
    cell = Cell(1, 2, (Edge(0, 1, ("a",)),), output=(1,))
    assert mean_normalized_entropy(cell, np.ones((1, 1))) == 0.0
    assert margins(cell, np.ones((1, 1))).tolist() == []


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=5))
def test_entropies_are_those_of_torch(rows: list[list[float]]) -> None:
    own = torch_entropies(torch.tensor(rows, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(entropies(np.array(rows)), own, atol=1e-12)


def test_a_trajectory_is_what_the_search_measured(runs: dict[str, Run]) -> None:
    run = runs["gaea-darts-0"]
    found, rows, result = read_trajectory(run.path), run.metrics(), run.result()
    assert result is not None
    assert (found.method, found.seed, found.epochs) == ("gaea-darts", 0, [1, 2])
    cell, edges = get_space("nano").cells["cell"], 3
    for point, row in zip(found.points, rows, strict=True):
        own, told = point.cells["cell"], row["cells"]["cell"]
        assert own.entropy == pytest.approx(told["entropy"], rel=1e-6)
        assert own.margin == pytest.approx(told["margin"], rel=1e-5)
        assert own.normalized == pytest.approx(told["entropy"] / math.log(len(cell.edges[0].ops)), rel=1e-6)
        assert (own.ops, own.skips) == (told["ops"], told["skips"])
        assert len(own.margins) == edges
        assert point.gap == row["valid_accuracy"] - row["discrete_accuracy"]
    assert found.final_gap == result["valid_accuracy"] - result["discrete_accuracy"]
    counts = found.counts("cell")
    assert [sum(own) for own in zip(*counts.values(), strict=True)] == [edges, edges]


def test_all_of_it_as_json(runs: dict[str, Run]) -> None:
    own = read_trajectory(runs["gaea-darts-0"])
    assert read_trajectory(load_run(own.path)).points == own.points
    facts = json.loads(json.dumps(own.facts()))
    assert facts.keys() >= set(QUANTITIES)
    assert facts["entropy"] == [point.cells["cell"].entropy for point in own.points]
    assert np.array(facts["cells"]["cell"]["margins"]).shape == (2, 3)


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    run = search_runs(tmp_path, "darts", health={"examples": 16, "discrete": False}, epochs=1)["darts-0"]
    found = read_trajectory(run)
    assert found.curve("gap") is None
    assert found.curve("accuracy") is not None
    assert found.facts()["gap"] is None


def test_no_run_of_a_search(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "train"}) as run:
        pass
    with pytest.raises(RunError, match="is a run of dartboard train; name one of dartboard search"):
        read_trajectory(run.path)


def test_a_run_without_epochs(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "search", "seed": 0}, space=get_space("nano")) as run:
        pass
    with pytest.raises(RunError, match="has no epochs yet"):
        read_trajectory(run.path)


@pytest.mark.parametrize("damage", [{}, {"strengths": {}}, {"strengths": {"cell": {"ops": "?"}}}])
@pytest.mark.usefixtures("without_checksums")
def test_damaged_epochs(tmp_path: Path, damage: dict[str, Any]) -> None:
    run = search_runs(tmp_path, "darts", epochs=1)["darts-0"]
    (run.path / "epochs" / "0000.json").write_text(json.dumps(damage))
    with pytest.raises(RunError, match="is damaged: it has epochs that cannot be read"):
        read_trajectory(run)


@pytest.mark.usefixtures("without_checksums")
def test_what_is_known_to_be_wrong_is_said_as_it_is(tmp_path: Path) -> None:
    run = search_runs(tmp_path, "darts", epochs=1)["darts-0"]
    (run.path / "space.json").write_text("{}")
    with pytest.raises(SpaceError):
        read_trajectory(run)


@pytest.fixture(scope="module")
def seeded_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return search_runs(tmp_path_factory.mktemp("runs"), "gaea-darts", "darts", seeds=2)


def test_a_band_by_hand() -> None:
    found = common_band([([1, 2, 3], np.array([1.0, 2.0, 6.0])), ([1, 2], np.array([3.0, 4.0]))])
    assert found is not None
    assert found.x.tolist() == [1, 2]
    assert found.mean.tolist() == [2.0, 3.0]
    np.testing.assert_allclose(found.std, [2**0.5, 2**0.5])


def test_a_band_of_one_has_no_spread_and_of_an_unknown_there_is_none() -> None:
    single = common_band([([1, 2], np.array([1.0, 2.0]))])
    assert single is not None
    assert single.std.tolist() == [0.0, 0.0]
    assert common_band([([1, 2], np.array([1.0, 2.0])), ([1, 2], None)]) is None


def test_searches_that_differ_by_their_seed_stand_together(seeded_runs: dict[str, Run]) -> None:
    found = read_trajectories(*(run.path for run in seeded_runs.values()))
    assert list(found.groups) == ["gaea-darts", "darts"]
    assert [own.seed for own in found.groups["darts"]] == [0, 1]
    each = [own.curve("entropy") for own in found.groups["darts"]]
    whole = found.band("darts", "entropy")
    assert whole is not None
    np.testing.assert_allclose(whole.mean, np.mean(each, axis=0))  # type: ignore[arg-type]
    np.testing.assert_allclose(whole.std, np.std(each, axis=0, ddof=1))  # type: ignore[arg-type]
    facts = json.loads(json.dumps(found.facts()))
    assert facts["darts"]["mean"]["entropy"] == whole.mean.tolist()
    assert len(facts["darts"]["runs"]) == 2


def test_other_settings_are_another_group(seeded_runs: dict[str, Run], tmp_path: Path) -> None:
    other = search_runs(tmp_path, "darts", epochs=1, method={"name": "darts", "weight_decay": 0.5})
    third = search_runs(tmp_path, "darts", epochs=1, checkpoint={"keep": 3})
    found = read_trajectories(*other.values(), *third.values())
    assert list(found.groups) == ["darts, weight_decay=0.5", "darts, weight_decay=0.001"]
    assert list(read_trajectories(*other.values(), seeded_runs["gaea-darts-0"]).groups) == [
        "darts",
        "gaea-darts",
    ]


def test_labels_say_what_differs() -> None:
    one = {"method.name": "darts", "method.lr": 0.1, "epochs": 5}
    assert group_labels([one]) == ["darts"]
    assert group_labels([one, {**one, "epochs": 6}]) == ["darts, epochs=5", "darts, epochs=6"]
    other = {"method.name": "xnas", "method.bound": 1.0, "epochs": 5}
    assert group_labels([one, other]) == ["darts", "xnas"]


def test_the_same_search_twice_and_none_at_all(seeded_runs: dict[str, Run]) -> None:
    run = seeded_runs["darts-0"]
    with pytest.raises(RunError, match="are the same search with seed 0; name one of them"):
        read_trajectories(run.path, run.path)
    with pytest.raises(RunError, match="no runs to look at"):
        read_trajectories()


def test_pictures_show_every_quantity_and_group(seeded_runs: dict[str, Run]) -> None:
    found = read_trajectories(*seeded_runs.values())
    pictures = found.plot()
    assert YLABELS.keys() == QUANTITIES.keys()
    for axes, quantity in zip(pictures["trajectory"].axes, YLABELS, strict=True):
        for line, label in zip(axes.lines, found.groups, strict=True):
            own = found.band(label, quantity)
            assert own is not None
            np.testing.assert_allclose(line.get_ydata(), own.mean)  # type: ignore[arg-type]
    titles = [axes.get_title() for axes in pictures["ops"].axes]
    assert titles == list(found.groups)
    last = {label: own[0].points[-1].cells["cell"] for label, own in found.groups.items()}
    for axes, label in zip(pictures["ops"].axes, found.groups, strict=True):
        heights = [bars.patches[-1].get_height() for bars in axes.containers]  # type: ignore[attr-defined]
        assert sum(heights) == sum(last[label].ops.values())
    shown = pictures["margins"].axes[0].images[0].get_array()
    assert shown is not None
    each = [own.points[-1].cells["cell"].margins for own in found.groups["gaea-darts"]]
    np.testing.assert_allclose(np.asarray(shown)[:, -1], np.mean(each, axis=0))


def test_two_archs_have_columns_of_their_own(tmp_path: Path) -> None:
    run = search_runs(tmp_path, "darts", epochs=1, space={"name": "darts", "cells": 3})["darts-0"]
    pictures = read_trajectories(run).plot()
    titles = [axes.get_title() for axes in pictures["ops"].axes]
    assert titles == ["darts, normal", "darts, reduce"]
