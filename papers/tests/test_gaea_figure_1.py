import math
from pathlib import Path

import numpy as np
import pytest

from dartboard.errors import OptionError
from dartboard_papers import REPRODUCTIONS, RunOptions, Verdict
from dartboard_papers.gaea_figure_1 import PANELS, PAPER, Entropy, Supernet, judge, plan, reproduce, together
from dartboard_papers.runner import choose_scale
from helpers.protocol_cases import few_digits

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = Supernet(epochs=2, batch=16)
TINY = Entropy(seeds=1, rest=1, darts=SMALL.model_copy(update={"cells": 3}), oneshot1=SMALL, nb201=SMALL)


def test_both_methods_are_searched_as_the_scale_says(tmp_path: Path) -> None:
    scale = Entropy(
        seeds=2, rest=3, channels=6, speed=10.0, images="cluttered-digits", pad=1, flip=True,
        darts=Supernet(cells=4, epochs=7, batch=5, lr=0.3, lr_end=0.2), oneshot1=Supernet(cells=2, epochs=6),
        nb201=Supernet(epochs=5, batch=9),
    )  # fmt: skip
    configs = plan(scale, RunOptions(tmp_path))
    assert len(configs) == 3 * 2 * 2
    base, gaea = configs["darts-pc-darts-s1"], configs["darts-gaea-pc-darts-s1"]
    assert base.method.options["lr"] == pytest.approx(6e-3)
    assert gaea.method.options["lr"] == pytest.approx(1.0)
    assert base.method.options["warmup"] == gaea.method.options["warmup"] == 3
    assert base.model_copy(update={"method": gaea.method}) == gaea
    assert (base.epochs, base.batch, base.weights.lr, base.weights.lr_end) == (7, 5, 0.3, 0.2)
    assert (base.data.name, base.data.pad, base.data.flip) == ("cluttered-digits", 1, True)
    other, bench = configs["oneshot1-pc-darts-s0"], configs["nb201-gaea-darts-s0"]
    assert bench.space.without == ("none",)
    assert [own.space.cells for own in (base, other, bench)] == [4, 2, 1]
    assert [own.epochs for own in (base, other, bench)] == [7, 6, 5]
    assert (bench.batch, bench.net.channels) == (9, 6)


def test_the_papers_searches_are_those_of_its_appendix(tmp_path: Path) -> None:
    configs = plan(PAPER, RunOptions(tmp_path))
    own, bench = configs["darts-gaea-pc-darts-s0"], configs["nb201-gaea-darts-s0"]
    assert (own.epochs, own.batch, own.weights.lr, own.weights.lr_end) == (50, 256, 0.1, 0.0)
    assert (bench.epochs, bench.batch, bench.weights.lr, bench.weights.lr_end) == (25, 64, 0.025, 0.001)
    assert (own.space.cells, bench.space.cells, own.data.name) == (8, 5, "cifar10")
    assert (own.method.options["lr"], bench.method.options["lr"]) == (0.1, 0.1)


def test_an_architecture_that_never_moves_is_refused() -> None:
    told = REPRODUCTIONS["gaea-figure-1"]
    assert choose_scale(told, ["rest=9"]) == Entropy(rest=9)
    with pytest.raises(OptionError, match=r"^rest: 10 of 10 epochs of rest on darts; expected fewer$"):
        choose_scale(told, ["rest=10"])
    with pytest.raises(OptionError, match=r"^rest: 2 of 2 epochs of rest on oneshot1"):
        choose_scale(told, ["oneshot1.epochs=2"])


def curves(base: list[float], gaea: list[float]) -> dict[str, dict[str, list[list[float]]]]:
    return {space: {own.base: [base] * 5, own.gaea: [gaea] * 5} for space, own in PANELS.items()}


@pytest.mark.parametrize(
    ("gaea", "verdict"),
    [
        ([2.0, 1.0, 0.5], Verdict.HELD),
        ([2.0, 1.9, 1.9], Verdict.NOT_HELD),
        ([2.0, 3.0, 0.5], Verdict.NOT_HELD),
    ],
)
def test_the_verdict_follows_the_entropies(gaea: list[float], verdict: Verdict) -> None:
    scale = Entropy(seeds=5, rest=1)
    assert judge(curves([2.0, 1.6, 1.2], gaea), scale, "digits").verdict is verdict


def test_each_space_is_a_part() -> None:
    found = curves([2.0, 1.6, 1.2], [2.0, 1.0, 0.5])
    found["nb201"]["gaea-darts"] = [[2.0, 1.9, 1.8]] * 5
    own = judge(found, Entropy(seeds=5), "digits")
    assert own.verdict is Verdict.PARTLY
    assert [part.held for part in own.parts.values()] == [True, True, False]
    assert list(own.parts) == list(REPRODUCTIONS["gaea-figure-1"].rules)
    assert "on 2 of 3 spaces" in own.sentence


def test_seeds_make_a_band() -> None:
    own = together([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_allclose(own.mean, [2.0, 4.0])
    np.testing.assert_allclose(own.std, [math.sqrt(2), math.sqrt(8)])
    assert own.x.tolist() == [1, 2]


def test_it_runs_at_a_tiny_scale(tmp_path: Path) -> None:
    own = reproduce(RunOptions(tmp_path, data=few_digits(tmp_path / "few.npz")), TINY)
    found = own.numbers["entropy of each seed"]
    assert found.keys() == PANELS.keys()
    starts = {"darts": math.log(8), "oneshot1": math.log(3)}  # at rest in the first epoch
    for space, most in starts.items():
        assert found[space]["gaea-pc-darts"][0][0] == pytest.approx(most, rel=1e-4)
        assert found[space]["gaea-pc-darts"][0][1] < most
    assert [axes.get_title() for axes in own.figures["entropy"].axes] == [
        own.title for own in PANELS.values()
    ]
