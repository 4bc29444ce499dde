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
    entropies,
    margins,
    mean_normalised_entropy,
    normalised_entropies,
    read_trajectory,
)
from dartboard.errors import RunError, SpaceError
from dartboard.runs import Run
from dartboard.search.health import entropies as torch_entropies
from dartboard.space import get_space
from dartboard.space.spec import Cell, Edge
from histories import histories

pytestmark = pytest.mark.usefixtures("one_thread")
CELL = Cell(1, 3, (Edge(0, 1, ("a", "b", "c")), Edge(0, 2, ("a",)), Edge(1, 2, ("a", "b"))), output=(2,))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return histories(tmp_path_factory.mktemp("runs"), "gaea-darts", method={"name": "gaea-darts", "lr": 5.0})


def test_equations_54_and_55_by_hand() -> None:
    ops = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0]])
    first = -(0.5 * math.log(0.5) + 2 * 0.25 * math.log(0.25)) / math.log(3)
    last = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1)) / math.log(2)
    np.testing.assert_allclose(normalised_entropies(CELL, ops), [first, last])
    assert mean_normalised_entropy(CELL, ops) == pytest.approx((first + last) / 2)
    np.testing.assert_allclose(margins(CELL, ops), [0.25, 0.8])


def test_equal_strengths_have_one_and_decided_ones_zero() -> None:
    equal = np.array([[1 / 3] * 3, [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert mean_normalised_entropy(CELL, equal) == pytest.approx(1.0)
    decided = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert mean_normalised_entropy(CELL, decided) == 0.0


def test_a_cell_without_a_choice() -> None:
    cell = Cell(1, 2, (Edge(0, 1, ("a",)),), output=(1,))
    assert mean_normalised_entropy(cell, np.ones((1, 1))) == 0.0
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
        assert own.normalised == pytest.approx(told["entropy"] / math.log(len(cell.edges[0].ops)), rel=1e-6)
        assert (own.ops, own.skips) == (told["ops"], told["skips"])
        assert len(own.margins) == edges
        assert point.gap == row["valid_accuracy"] - row["discrete_accuracy"]
    assert found.final_gap == result["valid_accuracy"] - result["discrete_accuracy"]
    counts = found.counts("cell")
    assert [sum(own) for own in zip(*counts.values(), strict=True)] == [edges, edges]


def test_all_of_it_as_json(runs: dict[str, Run]) -> None:
    own = read_trajectory(runs["gaea-darts-0"])
    facts = json.loads(json.dumps(own.facts()))
    assert facts.keys() >= set(QUANTITIES)
    assert facts["entropy"] == [point.cells["cell"].entropy for point in own.points]
    assert np.array(facts["cells"]["cell"]["margins"]).shape == (2, 3)


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    run = histories(tmp_path, "darts", health={"examples": 16, "discrete": False}, epochs=1)["darts-0"]
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
def test_damaged_epochs(tmp_path: Path, damage: dict[str, Any]) -> None:
    run = histories(tmp_path, "darts", epochs=1)["darts-0"]
    (run.path / "epochs" / "0000.json").write_text(json.dumps(damage))
    with pytest.raises(RunError, match="is damaged: it has epochs that cannot be read"):
        read_trajectory(run)


def test_what_is_known_to_be_wrong_is_said_as_it_is(tmp_path: Path) -> None:
    run = histories(tmp_path, "darts", epochs=1)["darts-0"]
    (run.path / "space.json").write_text("{}")
    with pytest.raises(SpaceError):
        read_trajectory(run)
