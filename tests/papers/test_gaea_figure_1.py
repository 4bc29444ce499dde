import math
from pathlib import Path

import numpy as np
import pytest

from dartboard.papers import Setting, Verdict
from dartboard.papers.gaea_figure_1 import PANELS, Entropy, judge, plan, reproduce, together
from protocols import few

pytestmark = pytest.mark.usefixtures("one_thread")
TINY = Entropy(seeds=1, epochs=2, rest=1, batch=16)


def test_both_methods_are_searched_as_the_scale_says() -> None:
    scale = Entropy(seeds=2, epochs=7, rest=3, cells=4, stage=2, channels=6, batch=5, lr=0.3, speed=10.0)
    configs = plan(scale, None)
    assert len(configs) == 3 * 2 * 2
    base, gaea = configs["darts-pc-darts-s1"], configs["darts-gaea-pc-darts-s1"]
    assert base.method.options["lr"] == pytest.approx(6e-3)
    assert gaea.method.options["lr"] == pytest.approx(1.0)
    assert base.method.options["warmup"] == gaea.method.options["warmup"] == 3
    assert (base.space.cells, configs["oneshot1-pc-darts-s0"].space.cells) == (4, 2)
    bench = configs["nb201-gaea-darts-s0"]
    assert bench.space.without == ("none",)
    assert (bench.epochs, bench.batch, bench.net.channels, bench.weights.lr) == (7, 5, 6, 0.3)
    assert base.model_copy(update={"method": gaea.method}) == gaea


def curves(base: list[float], gaea: list[float]) -> dict[str, dict[str, list[list[float]]]]:
    return {space: {own.base: [base], own.gaea: [gaea]} for space, own in PANELS.items()}


@pytest.mark.parametrize(
    ("gaea", "verdict"),
    [
        ([2.0, 1.0, 0.5], Verdict.HELD),
        ([2.0, 1.9, 1.9], Verdict.NOT_HELD),
        ([2.0, 3.0, 0.5], Verdict.NOT_HELD),
    ],
)
def test_the_verdict_follows_the_entropies(gaea: list[float], verdict: Verdict) -> None:
    scale = Entropy(seeds=1, rest=1)
    assert judge(curves([2.0, 1.6, 1.2], gaea), scale, "digits").verdict is verdict


def test_one_space_that_differs_is_enough() -> None:
    found = curves([2.0, 1.6, 1.2], [2.0, 1.0, 0.5])
    found["nb201"]["gaea-darts"] = [[2.0, 1.9, 1.8]]
    own = judge(found, Entropy(seeds=1), "digits")
    assert own.verdict is Verdict.NOT_HELD
    assert "on 2 of 3 spaces (darts, oneshot1)" in own.sentence


def test_seeds_make_a_band() -> None:
    own = together([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_allclose(own.mean, [2.0, 4.0])
    np.testing.assert_allclose(own.deviation, [math.sqrt(2), math.sqrt(8)])
    assert own.x.tolist() == [1, 2]


def test_it_runs_at_a_tiny_scale(tmp_path: Path) -> None:
    own = reproduce(Setting(tmp_path, data=few(tmp_path / "few.npz")), TINY)
    found = own.numbers["entropy of each seed"]
    assert found.keys() == PANELS.keys()
    starts = {"darts": math.log(8), "oneshot1": math.log(3)}  # at rest in the first epoch
    for space, most in starts.items():
        assert found[space]["gaea-pc-darts"][0][0] == pytest.approx(most, rel=1e-4)
        assert found[space]["gaea-pc-darts"][0][1] < most
    assert [axes.get_title() for axes in own.figures["entropy"].axes] == [
        own.title for own in PANELS.values()
    ]
