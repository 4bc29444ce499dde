import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from dartboard_papers import RunOptions, Verdict
from dartboard_papers._searches import searches
from dartboard_papers.xnas_figure_2 import (
    DARTS,
    PAPER,
    Decays,
    correlation,
    final_entropy,
    judge,
    normal,
    plan,
    reproduce,
)
from helpers.protocol_cases import few_digits

pytestmark = pytest.mark.usefixtures("one_thread")
TINY = Decays(decays=(0.0, DARTS), seeds=1, epochs=1, batch=16)


def test_every_decay_and_seed_is_searched_as_the_scale_says() -> None:
    scale = Decays(decays=(0.0, 0.5), seeds=2, searched="darts", cells=4, rate=0.25, channels=6, epochs=3,
                   batch=7, pad=2, flip=True)  # fmt: skip
    configs = plan(scale, None)
    assert list(configs) == ["0-s0", "0-s1", "0.5-s0", "0.5-s1"]
    own = configs["0.5-s1"]
    assert own.method.options == {"lr": 0.25, "weight_decay": 0.5}
    assert (own.space.name, own.space.cells, own.net.channels) == ("darts", 4, 6)
    assert (own.seed, own.epochs, own.batch, own.data.pad, own.data.flip) == (1, 3, 7, 2, True)
    assert own.data.name == "cluttered-digits"
    other = plan(scale.model_copy(update={"images": "digits"}), None)["0.5-s1"]
    assert (other.data.name, PAPER.images) == ("digits", "cifar10")


def test_the_entropy_is_that_of_equation_55(tmp_path: Path) -> None:
    config = plan(TINY, few_digits(tmp_path / "few.npz"))["0.001-s0"]
    run = searches({"one": config}, RunOptions(tmp_path))["one"]
    rows = json.loads((run.path / "epochs" / "0000.json").read_text())["strengths"]["cell"]["ops"]
    each = [-sum(own * math.log(own) for own in row) / math.log(6) for row in rows]
    assert len(each) == 3
    assert final_entropy(run) == pytest.approx(sum(each) / 3)


def test_the_normal_cell_counts_where_there_is_one() -> None:
    assert normal({"reduce": 2, "normal": 1}) == 1
    assert normal({"cell": 3}) == 3


def test_the_correlation_is_over_all_searches() -> None:
    assert correlation([0.0, 1.0], np.array([[0.1, 0.2], [0.3, 0.4]])) == pytest.approx(2 / math.sqrt(5))
    assert correlation([0.0, 1.0, 2.0], np.array([[0.4], [0.3], [0.1]])) == pytest.approx(-1)
    assert correlation([0.0, 1.0], np.array([[0.5], [0.5]])) == 0.0
    decays, entropies = [0.0, 0.1, 0.5], np.random.default_rng(0).random((3, 4))
    assert correlation(decays, entropies) == pytest.approx(
        spearmanr(np.repeat(decays, 4), entropies.ravel()).statistic
    )


def test_chance_is_that_of_decays_without_effect() -> None:
    """Two decays, one seed: a rise half of the time. Three seeds: 6 of 20 deals of 3 and 3 reach 0.7."""
    (part,) = judge({0.0: [0.1], DARTS: [0.2]}, "small").parts.values()
    assert part.chance == pytest.approx(1 / 2, abs=0.02)
    (part,) = judge({0.0: [0.1, 0.15, 0.12], DARTS: [0.2, 0.3, 0.25]}, "small").parts.values()
    assert part.chance == pytest.approx(1 / 8, abs=0.02)  # seeds are shuffled one by one


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ({0.0: [0.1, 0.2], DARTS: [0.3, 0.25], 1.0: [0.5, 0.6]}, Verdict.HELD),
        ({0.0: [0.5, 0.6], DARTS: [0.3, 0.25], 1.0: [0.1, 0.2]}, Verdict.NOT_HELD),
        ({0.0: [0.5, 0.1], DARTS: [0.3, 0.25], 1.0: [0.2, 0.55]}, Verdict.NOT_HELD),
    ],
)
def test_the_verdict_follows_the_entropies(found: dict[float, list[float]], verdict: Verdict) -> None:
    own = judge(found, "small")
    assert own.verdict is verdict
    assert own.seeds == 2
    assert any("are therefore ours" in remark for remark in own.remarks)
    assert own.numbers["entropy"] == {"0": found[0.0], "0.001": found[DARTS], "1": found[1.0]}
    dots = [line for line in own.figures["entropy"].axes[0].lines if line.get_color() == "red"]
    assert [tuple(line.get_xydata()[0]) for line in dots] == [(DARTS, sum(found[DARTS]) / 2)]


def test_it_runs_at_a_tiny_scale(tmp_path: Path) -> None:
    own = reproduce(RunOptions(tmp_path, data=few_digits(tmp_path / "few.npz")), TINY)
    assert own.numbers["entropy"].keys() == {"0", "0.001"}
    assert all(0.9 < each[0] <= 1 for each in own.numbers["entropy"].values())
    assert "few.npz" in own.size
