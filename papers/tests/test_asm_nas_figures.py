"""ASM-NAS, figures 3 and 4 and table 5."""

import json
from pathlib import Path

import numpy as np
import pytest

from dartboard.analysis.attention import AttentionMap
from dartboard.analysis.stability import RunStability
from dartboard.search.stability import EdgeStability
from dartboard.space import get_space, load_space
from dartboard.space.catalog import DARTS_OPS
from dartboard_papers import RunOptions, Verdict, asm_nas_figure_3, asm_nas_figure_4, asm_nas_table_5
from dartboard_papers._amended import keep_space
from dartboard_papers._asm import asm_space
from dartboard_papers.asm_nas_figure_4 import prefers, shares, third
from helpers.protocol_cases import few_digits

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_space_is_the_papers_with_other_cells(tmp_path: Path) -> None:
    assert asm_space(15).groups == get_space("asm").groups
    assert load_space(keep_space(asm_space(4), tmp_path)) == asm_space(4)
    assert len(asm_space(4).groups) == 4


def test_searches_differ_by_their_method_alone() -> None:
    scale = asm_nas_figure_3.Stability(rate=0.5, lr=0.3, pad=1, flip=True, examples=9, batch=5, epochs=2)
    configs = asm_nas_figure_3.plan(scale, "asm", None)
    asm, darts = configs["asm-s1"], configs["darts-s1"]
    assert darts.method.options == {"lr": 0.5}
    assert asm.model_copy(update={"method": darts.method}) == darts
    assert (asm.seed, asm.batch, asm.epochs, asm.weights.lr, asm.health.examples) == (1, 5, 2, 0.3, 9)
    assert (asm.data.name, asm.data.pad, asm.data.flip, asm.data.valid) == ("digits", 1, True, 0.5)
    other = asm_nas_figure_3.plan(scale.model_copy(update={"images": "cluttered-digits"}), "asm", None)
    assert other["asm-s1"].data.name == "cluttered-digits"
    assert asm_nas_figure_3.PAPER.images == asm_nas_figure_4.PAPER.images == "cifar10"


def changed(*changes: float) -> list[RunStability]:
    edges = [EdgeStability("cell00", place, "a", 0.5 + own, own) for place, own in enumerate(changes)]
    return [RunStability(Path("run"), {}, 0, 0.5, edges)]


@pytest.mark.parametrize(
    ("asm", "darts", "verdict"),
    [
        (changed(-0.01, 0.02), changed(-0.2, 0.1), Verdict.HELD),
        (changed(-0.3, 0.02), changed(-0.2, 0.1), Verdict.NOT_HELD),
    ],
)
def test_the_smaller_change_is_the_more_stable(
    asm: list[RunStability], darts: list[RunStability], verdict: Verdict
) -> None:
    own = asm_nas_figure_3.judge({"asm": asm, "darts": darts}, "small")
    assert own.verdict is verdict
    assert f"by {darts[0].mean_change:.2%} with DARTS" in own.sentence


def test_figure_3_at_a_tiny_scale(tmp_path: Path) -> None:
    scale = asm_nas_figure_3.Stability(seeds=1, epochs=1, channels=2, batch=16, examples=16)
    own = asm_nas_figure_3.reproduce(RunOptions(tmp_path, data=few_digits(tmp_path / "few.npz")), scale)
    assert own.numbers.keys() == {"asm", "darts"}
    for (told,) in own.numbers.values():
        assert len(told["edges"]) == 3 * 14
        assert told["mean change"] == pytest.approx(np.mean([abs(edge["change"]) for edge in told["edges"]]))


def heat_map(cell: int, *strongest: str) -> AttentionMap:
    weights = np.full((len(strongest), 8), 0.1)
    for row, op in zip(weights, strongest, strict=True):
        row[DARTS_OPS.index(op)] = 0.3
    edges = tuple((0, target) for target in range(len(strongest)))
    return AttentionMap(f"cell{cell:02d}", (cell,), False, edges, DARTS_OPS, weights)


def test_thirds_of_a_stack() -> None:
    assert [third(cell, 3) for cell in (1, 2, 3)] == ["first", "middle", "last"]
    assert [third(cell, 6) for cell in (2, 3, 4, 5)] == ["first", "middle", "middle", "last"]


def test_preferences_are_counted_over_seeds() -> None:
    one = [heat_map(1, "sep_conv_3x3", "none"), heat_map(2, "dil_conv_5x5", "sep_conv_5x5"),
           heat_map(3, "max_pool_3x3", "avg_pool_3x3")]  # fmt: skip
    other = [heat_map(1, "skip_connect", "none"), *one[1:]]
    told = shares([one, other])
    assert told["first"] == {"first": 0.25, "middle": 0.0, "last": 0.0}
    assert told["middle"]["middle"] == told["last"]["last"] == 1.0
    assert all(prefers(told, place) for place in told)
    held = asm_nas_figure_4.judge([one, other], "small")
    assert (held.verdict, held.seeds) == (Verdict.HELD, 2)
    assert asm_nas_figure_4.judge([one[::-1]], "small").verdict is Verdict.HELD  # cells know their places
    wrong = [heat_map(own.cells[0], "sep_conv_3x3", "none") for own in one]
    assert asm_nas_figure_4.judge([wrong], "small").verdict is Verdict.NOT_HELD


def test_figure_4_at_a_tiny_scale(tmp_path: Path) -> None:
    scale = asm_nas_figure_4.Attention(seeds=1, cells=3, epochs=1, channels=2, batch=16, examples=16)
    own = asm_nas_figure_4.reproduce(RunOptions(tmp_path, data=few_digits(tmp_path / "few.npz")), scale)
    (maps,) = own.numbers["maps"]
    assert [told["cells"] for told in maps] == [(1,), (2,), (3,)]
    weights = np.array([told["weights"] for told in maps])
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)
    least, most = 1 / (1 + 7 * np.e), np.e / (np.e + 7)
    assert least < weights.min() <= weights.max() < most
    assert json.loads(json.dumps(own.numbers))["shares"].keys() == {"first", "middle", "last"}


@pytest.mark.parametrize(
    ("second", "asm", "verdict"),
    [(5.0, 1.1, Verdict.HELD), (0.5, 1.0, Verdict.NOT_HELD), (5.0, 1.3, Verdict.NOT_HELD)],
)
def test_costs_are_compared_by_their_medians(second: float, asm: float, verdict: Verdict) -> None:
    names = (asm_nas_table_5.WEIGHTS, asm_nas_table_5.FIRST, asm_nas_table_5.SECOND, asm_nas_table_5.ASM)
    times = {name: [own, own, 99.0] for name, own in zip(names, (1.0, 1.0, second, asm), strict=True)}
    own = asm_nas_table_5.judge(times, asm_nas_table_5.Cost())
    assert (own.verdict, own.seeds) == (verdict, 7)
    told = {row.what: row.here for row in own.rows}
    assert told["DARTS in all / ASM-NAS"] == pytest.approx((1 + second) / asm)
    assert told["DARTS in all / ASM-NAS, first order"] == pytest.approx(2 / asm)


def test_table_5_at_a_tiny_scale(tmp_path: Path) -> None:
    scale, told = asm_nas_table_5.Cost(cells=3, channels=2, image=8, batch=2, repeats=2), list[int]()
    options = RunOptions(tmp_path, tell=lambda what, done, total: told.append(done))  # noqa: ARG005
    own = asm_nas_table_5.reproduce(options, scale)
    assert told == [0, 1, 2]
    assert all(len(times) == 2 and min(times) > 0 for times in own.numbers["seconds"].values())
