"""Training every architecture of a small space."""

from pathlib import Path

import numpy as np
import pytest

from dartboard.data import load_dataset
from dartboard.errors import RunError, TableError
from dartboard.jobs.executors.local import InlineExecutor, PoolExecutor
from dartboard.scoreboard.exhaustive import BenchmarkPlan, gather, make, train
from dartboard.space import enumerate_genotypes, get_space
from dartboard.train import TrainOptions

OPTIONS = {
    "epochs": 2,
    "batch": 256,
    "net": {"channels": 2, "auxiliary": 0.0, "drop_path": 0.0},
    "weights": {"lr": 0.1},
    "evaluation": {"every": 2},
}
TRAININGS = [(0, 0), (215, 0), (0, 1), (215, 1)]


class Few(BenchmarkPlan):
    """Two architectures of nano, as if there were no others."""

    def trainings(self) -> list[tuple[int, int]]:
        return TRAININGS


PLAN = Few("nano", "cluttered-digits", OPTIONS, 2, 1)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    assert list(make(PLAN, folder, InlineExecutor())) == [(done, 4) for done in range(5)]
    return folder


def test_arrays_are_in_the_order_of_cells_seeds_and_epochs(work: Path) -> None:
    found = gather(PLAN, work)
    assert found["valid"].shape == found["test"].shape == found["loss"].shape == (2, 2, 2)
    assert found["seconds"].shape == (2, 2)
    own = PLAN.train(215, 1)
    np.testing.assert_array_equal(found["test"][1, 1], own.right["test"])
    np.testing.assert_array_equal(found["valid"][1, 1], own.right["valid"])
    np.testing.assert_allclose(found["loss"][1, 1], own.loss, rtol=1e-6)
    assert (found["parameters"][1], found["flops"][1]) == (own.parameters, own.flops)
    assert found["parameters"][0] < found["parameters"][1]


def test_a_pool_makes_the_same(work: Path, tmp_path: Path) -> None:
    assert list(make(PLAN, tmp_path, PoolExecutor(jobs=2, threads=1)))[-1] == (4, 4)
    first, second = gather(PLAN, work), gather(PLAN, tmp_path)
    for name in ("valid", "test", "loss", "parameters", "flops"):
        np.testing.assert_array_equal(first[name], second[name])


def test_what_is_there_is_not_made_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(BenchmarkPlan, "train", refuse)
    assert list(make(PLAN, work, InlineExecutor())) == [(4, 4)]


def test_missing_trainings_are_counted(work: Path, tmp_path: Path) -> None:
    for path in sorted(work.iterdir())[1:]:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with pytest.raises(TableError, match=r"lacks 1 of 4 trainings"):
        gather(PLAN, tmp_path)


def test_a_folder_has_the_trainings_of_one_plan(work: Path) -> None:
    other = Few("nano", "cluttered-digits", OPTIONS | {"epochs": 3}, 2, 1)
    with pytest.raises(TableError, match="has trainings of another plan"):
        next(make(other, work, InlineExecutor()))
    with pytest.raises(TableError, match="has trainings of another plan"):
        gather(other, work)


def test_a_training_that_fails_is_not_waited_for(tmp_path: Path) -> None:
    wrong = Few("nano", "cluttered-digits", OPTIONS | {"batch": 0}, 2, 1)
    with pytest.raises(RunError, match="batch"):
        list(make(wrong, tmp_path, InlineExecutor()))


def test_a_plan_trains_every_architecture_with_every_seed() -> None:
    jobs = BenchmarkPlan("nano", "cluttered-digits", OPTIONS, 3, 1).trainings()
    assert len(jobs) == len(set(jobs)) == 3 * 216
    assert jobs[:216] == [(number, 0) for number in range(216)]


def test_the_last_point_of_the_curves_is_the_result() -> None:
    space = get_space("nano")
    cell = list(enumerate_genotypes(space))[100]
    data, options = load_dataset("cluttered-digits"), TrainOptions.model_validate(OPTIONS)
    found = train(space, cell, data, options)
    assert len(found.loss) == len(found.right["test"]) == 2
    seldom = train(space, cell, data, options, every=2)
    assert seldom.right == {part: right[1:] for part, right in found.right.items()}
    assert seldom.loss == found.loss[1:]


def test_images_without_a_part_are_refused() -> None:
    space = get_space("nano")
    cell = next(iter(enumerate_genotypes(space)))
    with pytest.raises(TableError, match="needs validation and test images, which 'digits' has not"):
        train(space, cell, load_dataset("digits"), TrainOptions.model_validate(OPTIONS))
