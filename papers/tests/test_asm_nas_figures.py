"""ASM-NAS, figures 3 and 4 and table 5."""

import json
from pathlib import Path

import numpy as np
import pytest

from dartboard.analysis.attention import AttentionMap
from dartboard.analysis.stability import RunStability
from dartboard.runs import Run
from dartboard.search.health import discrete_accuracy
from dartboard.search.searcher import load_searcher
from dartboard.search.stability import EdgeStability
from dartboard.space import get_space, load_space
from dartboard.space.catalog import DARTS_OPS
from dartboard_papers import (
    REPRODUCTIONS,
    RunOptions,
    Verdict,
    asm_nas_figure_3,
    asm_nas_figure_4,
    asm_nas_table_5,
)
from dartboard_papers._amended import final_genotype, keep_space
from dartboard_papers._asm import asm_space
from dartboard_papers.asm_nas_figure_3 import AT_ONCE, DARTS, IN_TURN, Course
from dartboard_papers.asm_nas_figure_4 import by_third, prefers, shares, thirds
from helpers.protocol_cases import few_digits

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_space_is_the_papers_with_other_cells(tmp_path: Path) -> None:
    assert asm_space(15).groups == get_space("asm").groups
    assert load_space(keep_space(asm_space(4), tmp_path)) == asm_space(4)
    assert len(asm_space(4).groups) == 4


def test_searches_differ_by_their_method_alone() -> None:
    scale = asm_nas_figure_3.Stability(rate=0.5, lr=0.3, pad=1, flip=True, examples=9, batch=5, epochs=2)
    configs = asm_nas_figure_3.plan(scale, "asm", None)
    assert {config.seed for config in configs.values()} == set(range(5))
    asm, darts = configs["asm-s1"], configs["darts-s1"]
    assert darts.method.options == {"lr": 0.5}
    assert asm.model_copy(update={"method": darts.method}) == darts
    assert (asm.seed, asm.batch, asm.epochs, asm.weights.lr, asm.health.examples) == (1, 5, 2, 0.3, 9)
    assert (asm.data.name, asm.data.pad, asm.data.flip, asm.data.valid) == ("digits", 1, True, 0.5)
    other = asm_nas_figure_3.plan(scale.model_copy(update={"images": "cluttered-digits"}), "asm", None)
    assert other["asm-s1"].data.name == "cluttered-digits"
    assert asm_nas_figure_3.PAPER.images == asm_nas_figure_4.PAPER.images == "cifar10"


def changed(*sizes: float) -> list[RunStability]:
    """Searches in each of which one edge moves the accuracy up and another down, by so much."""
    return [
        RunStability(
            Path("run"),
            {},
            seed,
            0.5,
            [EdgeStability("cell00", place, "a", 0.5 + own, own) for place, own in enumerate((size, -size))],
        )
        for seed, size in enumerate(sizes)
    ]


def courses(in_turn: float, at_once: float) -> list[Course]:
    """Five searches that end with those accuracies and the same of DARTS."""
    ends = {IN_TURN: in_turn, AT_ONCE: at_once, DARTS: 0.2}
    return [Course(label, [0.9, 0.8, end + seed / 100]) for label, end in ends.items() for seed in range(5)]


LITTLE, MUCH = (0.01, 0.02, 0.01, 0.03, 0.02), (0.2, 0.1, 0.3, 0.2, 0.1)


@pytest.mark.parametrize(
    ("asm", "darts", "ends", "held"),
    [
        (LITTLE, MUCH, (0.6, 0.3), [True, True]),
        (MUCH, LITTLE, (0.6, 0.3), [False, True]),
        (LITTLE, (0.01, 0.02, 0.02, 0.03, 0.02), (0.3, 0.6), [False, False]),
        (LITTLE, MUCH, (0.601, 0.6), [True, False]),
    ],
)
def test_smaller_changes_and_more_that_is_left(
    asm: tuple[float, ...], darts: tuple[float, ...], ends: tuple[float, float], held: list[bool]
) -> None:
    own = asm_nas_figure_3.judge({"asm": changed(*asm), "darts": changed(*darts)}, courses(*ends), "small")
    assert [part.held for part in own.parts.values()] == held
    assert list(own.parts) == list(REPRODUCTIONS["asm-nas-figure-3"].rules)
    assert f"by {100 * np.mean(darts):.2f} with DARTS" in own.sentence
    [row] = [row.here for row in own.rows if row.what.startswith(IN_TURN)]
    assert row == f"90.0 / 80.0 / {100 * (ends[0] + 0.02):.1f}"


def test_figure_3_at_a_tiny_scale(tmp_path: Path) -> None:
    scale = asm_nas_figure_3.Stability(seeds=1, epochs=1, channels=2, batch=16, examples=16)
    own = asm_nas_figure_3.reproduce(RunOptions(tmp_path, data=few_digits(tmp_path / "few.npz")), scale)
    edges, cells = own.numbers["edges"], own.numbers["cells"]
    assert edges.keys() == {"asm", "darts"}
    for (told,) in edges.values():
        assert len(told["edges"]) == 3 * 14
        assert told["mean change"] == pytest.approx(np.mean([abs(edge["change"]) for edge in told["edges"]]))
    for label, method in ((IN_TURN, "asm"), (AT_ONCE, "asm"), (DARTS, "darts")):
        (accuracies,) = cells[label]
        assert len(accuracies) == 1 + 3
        assert accuracies[0] == pytest.approx(100 * edges[method][0]["accuracy"])
    [run] = (tmp_path / "runs").glob("darts-s0-*")
    searcher = load_searcher(Run.read(run))
    genotype = final_genotype(Run.read(run))
    discrete = discrete_accuracy(searcher.objective, genotype, searcher.valid_batches())
    assert cells[DARTS][0][-1] == pytest.approx(100 * discrete)


def heat_map(cell: int, *strongest: str) -> AttentionMap:
    weights = np.full((len(strongest), 8), 0.1)
    for row, op in zip(weights, strongest, strict=True):
        row[DARTS_OPS.index(op)] = 0.3
    edges = tuple((0, target) for target in range(len(strongest)))
    return AttentionMap(f"cell{cell:02d}", (cell,), False, edges, DARTS_OPS, weights)


def test_thirds_of_a_stack() -> None:
    assert [range(7)[cells] for cells in thirds(6).values()] == [range(2), range(2, 4), range(4, 6)]
    assert [len(range(5)[cells]) for cells in thirds(5).values()] == [2, 2, 1]
    assert [len(range(3)[cells]) for cells in thirds(3).values()] == [1, 1, 1]


def test_preferences_are_counted_over_seeds() -> None:
    one = [heat_map(1, "sep_conv_3x3", "none"), heat_map(2, "dil_conv_5x5", "sep_conv_5x5"),
           heat_map(3, "max_pool_3x3", "avg_pool_3x3")]  # fmt: skip
    other = [heat_map(1, "skip_connect", "none"), *one[1:]]
    told = shares([one, other])
    assert told["first"].tolist() == [[0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert by_third(told["first"]) == {"first": 0.25, "middle": 0.0, "last": 0.0}
    assert by_third(told["middle"])["middle"] == by_third(told["last"])["last"] == 1.0
    assert all(prefers(part, values) for part, values in told.items())
    held = asm_nas_figure_4.judge([one, other], "small")
    assert (held.verdict, held.seeds) == (Verdict.HELD, 2)
    assert list(held.parts) == list(REPRODUCTIONS["asm-nas-figure-4"].rules)
    last = held.parts["pooling in the last third"]  # in both seeds the third of three cells
    assert last.chance == pytest.approx(1 / 9, abs=0.02)
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
    [(5.0, 1.1, Verdict.HELD), (0.5, 1.0, Verdict.PARTLY), (1.0, 1.3, Verdict.NOT_HELD)],
)
def test_costs_are_compared_turn_by_turn(second: float, asm: float, verdict: Verdict) -> None:
    names = (asm_nas_table_5.WEIGHTS, asm_nas_table_5.FIRST, asm_nas_table_5.SECOND, asm_nas_table_5.ASM)
    times = {name: [own] * 7 + [99.0] for name, own in zip(names, (1.0, 1.0, second, asm), strict=True)}
    own = asm_nas_table_5.judge(times, asm_nas_table_5.Cost())
    assert (own.verdict, own.seeds) == (verdict, 9)
    told = {row.what: row.here for row in own.rows}
    assert told["DARTS in all / ASM-NAS"] == pytest.approx((1 + second) / asm)
    assert told["DARTS in all / ASM-NAS, first order"] == pytest.approx(2 / asm)


def test_table_5_at_a_tiny_scale(tmp_path: Path) -> None:
    scale, told = asm_nas_table_5.Cost(cells=3, channels=2, image=8, batch=2, repeats=2), list[int]()
    options = RunOptions(tmp_path, tell=lambda what, done, total: told.append(done))  # noqa: ARG005
    own = asm_nas_table_5.reproduce(options, scale)
    assert told == [0, 1, 2]
    assert all(len(times) == 2 and min(times) > 0 for times in own.numbers["seconds"].values())
