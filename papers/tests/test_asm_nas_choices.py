"""ASM-NAS: choices with labels and with shuffled ones."""

from pathlib import Path

import numpy as np
import pytest

from dartboard.data import load_dataset
from dartboard_papers import RunOptions, Verdict, asm_nas_choices
from dartboard_papers.asm_nas_choices import Choices, judge, plan, write_images

pytestmark = pytest.mark.usefixtures("one_thread")


def test_shuffled_labels_are_the_same_labels_of_other_images(tmp_path: Path) -> None:
    train = load_dataset("cluttered-digits").train
    files = [write_images(tmp_path / f"{seed}.npz", shuffle=seed) for seed in (None, 0, 1, 1)]
    labels = [np.load(file)["y_train"] for file in files]
    assert np.array_equal(labels[0], train.labels.numpy())
    assert np.array_equal(np.sort(labels[1]), np.sort(labels[0]))
    assert np.array_equal(labels[2], labels[3])
    assert 0.05 < np.mean(labels[1] == labels[0]) < 0.2  # what chance gives with ten classes
    assert not np.array_equal(labels[1], labels[2])
    assert all(np.array_equal(np.load(file)["x_train"], train.images.numpy()) for file in files)


def test_searches_differ_by_their_labels_alone(tmp_path: Path) -> None:
    configs = plan(Choices(seeds=5, epochs=3), tmp_path)
    assert len(configs) == 10
    labeled, shuffled = configs["labels-s4"], configs["shuffled-s4"]
    assert labeled.model_copy(update={"data": shuffled.data}) == shuffled
    assert (labeled.seed, labeled.epochs, labeled.method.name) == (4, 3, "asm")


@pytest.mark.parametrize(
    ("labeled", "shuffled", "verdict"),
    [
        ([0.75, 0.74, 0.76, 0.73, 0.75], [0.5, 0.6, 0.55, 0.7, 0.4], Verdict.HELD),
        ([0.75, 0.5, 0.76, 0.4, 0.7], [0.5, 0.6, 0.75, 0.7, 0.4], Verdict.NOT_HELD),
        ([0.5, 0.6, 0.55, 0.7, 0.4], [0.75, 0.74, 0.76, 0.73, 0.75], Verdict.NOT_HELD),
    ],
)
def test_the_rule(labeled: list[float], shuffled: list[float], verdict: Verdict) -> None:
    cells = {"labels": ["a"] * 5, "shuffled": ["a", "b", "a", "c", "b"]}
    result = judge({"labels": labeled, "shuffled": shuffled}, cells, "small")
    assert result.verdict is verdict
    assert [row.here for row in result.rows[2:4]] == [1, 3]
    assert result.seeds == 5


def test_it_runs(tmp_path: Path) -> None:
    result = asm_nas_choices.reproduce(
        RunOptions(tmp_path), Choices(seeds=5, epochs=1, channels=2, batch=256)
    )
    assert {len(values) for values in result.numbers["tests"].values()} == {5}
    assert 0 < result.numbers["p"] <= 1
    assert list(result.figures) == ["choices"]
