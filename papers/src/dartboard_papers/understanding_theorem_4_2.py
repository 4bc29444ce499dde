"""Theorem 4.2 of Shu et al.: block-wise smoothness of the widest and the narrowest linear cell.

The loss is quadratic, so the constants are exact, the same at all weights, and the same in the Frobenius norm
and in the proof's 2-norm. `dartboard_papers.theory.linear_cells` says what is wrong with the proof. What the
paper concludes from the bound, that the narrowest cell's constants are larger where norms are above 1, is
looked at beside it.
"""

from typing import Annotated

import torch
from pydantic import Field
from scipy.stats import binomtest
from torch import Tensor

from dartboard.config.schema import Count, Seed
from dartboard_papers.base import LEVEL, PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction
from dartboard_papers.formatting import format_p
from dartboard_papers.theory.linear_problems import Survey, compare, counterexample, survey
from dartboard_papers.theory.plots import draw_smoothness

BOUND = "the bound"
CONCLUSION = "the narrowest cell's constants are larger where norms are above 1"
LARGER_RULE = (
    "at every norm above 1 their sum is larger in the narrowest cell for so many problems that p is at "
    f"most {LEVEL} by the sign test"
)
REMARKS = (
    "The proof drops the nodes behind W_i, whose gradients change with it.",
    "It counts the norms before W_i once where they count twice.",
    "For convex losses sqrt(L^_i) <= sum over k >= i of sqrt(L_k) times the norms up to W_k but that of W_i.",
    'The paper says "largest eigenvalue"; its proof needs the largest singular value, which is used here.',
    "At first the bound alone was judged; the conclusion was reported.",
)
NAMES = ("widest", "narrowest", "claimed", "bound")
Above = Annotated[float, Field(gt=0)]
"""A number above 0."""


class LinearCells(Scale):
    """Random linear cells."""

    lengths: tuple[Above, ...] = Field(
        default=(0.5, 1.0, 1.5, 2.0, 3.0), min_length=1, description="2-norms of the weights"
    )
    problems: Count = Field(default=40, description="random problems for each norm")
    nodes: Count = Field(default=4, description="nodes of a cell")
    size: Count = Field(default=4, description="entries of a node")
    examples: Count = Field(default=32, description="examples, over which means are exact")
    seed: Seed = Field(default=0, description="random seed of the first problem")

    def words(self) -> str:
        """Description of the size."""
        cells = f"{self.nodes} nodes of {self.size} entries, {self.examples} examples"
        return f"{cells}, {self.problems} problems for each of {len(self.lengths)} norms"


def survey_cells(options: RunOptions, scale: LinearCells, loss: str) -> Survey:
    """Measurements of the random cells with a loss."""
    return survey(
        scale.lengths,
        problems=scale.problems,
        nodes=scale.nodes,
        size=scale.size,
        examples=scale.examples,
        loss=loss,
        seed=scale.seed,
        tell=options.tell,
    )


@reproduction(
    "understanding-theorem-4-2",
    about="block-wise Lipschitz constants of linear cells against the bound of the theorem",
    claim="the narrowest cell's constant for W_i is at most that of the widest times the norms of W_1 ... "
    "W_{i-1}, so that it can be much larger where norms are above 1",
    rules={BOUND: "no constant is above it, in any problem", CONCLUSION: LARGER_RULE},
    minutes=0.5,
    laptop=LinearCells(),
)
def reproduce(options: RunOptions, scale: LinearCells) -> ReproductionResult:
    """Compares exact constants of random cells with the theorem's bound and the one that holds."""
    survey = survey_cells(options, scale, "squared")
    broken = survey.broken("smooth_narrowest", "smooth_claimed")
    mended = survey.broken("smooth_narrowest", "smooth_bound")
    above = f"{_percent(broken)} of the constants are above the bound"
    parts = {
        BOUND: PartResult(not broken.any(), above, None),
        CONCLUSION: judge_larger([survey.ratios("smooth")], survey.lengths),
    }
    numbers = {name: survey.stacked(f"smooth_{name}").tolist() for name in NAMES}
    return ReproductionResult(
        rows=[*_counterexample_rows(), *_rows(survey)],
        parts=parts,
        sentence=f"{above}, {_percent(mended)} above that of the mended proof",
        size=scale.words(),
        seeds=scale.problems,
        figures={"smoothness": draw_smoothness(survey)},
        numbers=numbers | {"lengths": survey.lengths},
        remarks=REMARKS,
    )


def judge_larger(ratios: list[Tensor], lengths: tuple[float, ...]) -> PartResult:
    """Whether ratios [lengths, problems] of one or more losses are above 1, by `LARGER_RULE`."""
    large = [index for index, length in enumerate(lengths) if length > 1]
    if not large:
        return PartResult(None, "takes norms above 1", None)
    counts = {
        (loss, index): int((group[index] > 1).sum()) for loss, group in enumerate(ratios) for index in large
    }
    problems = ratios[0].shape[1]
    p = max(binomtest(count, problems, alternative="greater").pvalue for count in counts.values())
    fewest = min(counts.values())
    factors = ", ".join(
        f"{min(float(group[index].median()) for group in ratios):.3g} at norm {lengths[index]:g}"
        for index in large
    )
    words = (
        f"larger in at least {fewest} of {problems} problems, by a median factor of {factors}, {format_p(p)}"
    )
    return PartResult(bool(p <= LEVEL), words, LEVEL)


def _percent(these: Tensor) -> str:
    """Percentage of true values, as text."""
    return f"{100 * these.double().mean().item():.3g} %"


def _counterexample_rows() -> list[Row]:
    """The constants of the problem with two nodes that breaks the bound."""
    measured = compare(counterexample())
    pairs = zip(measured.smooth_claimed.tolist(), measured.smooth_narrowest.tolist(), strict=True)
    return [
        Row(f"two nodes of one entry, weights 2, f = |z|^2 / 2: constant of W{block}", f"<= {claim:g}", here)
        for block, (claim, here) in enumerate(pairs, 1)
    ]


def _rows(survey: Survey) -> list[Row]:
    both = torch.stack([survey.stacked(f"smooth_{name}") for name in ("claimed", "narrowest")], -1)
    ratios = (both / survey.stacked("smooth_widest")[..., None]).median(1).values
    broken = survey.broken("smooth_narrowest", "smooth_claimed").double().mean((1, 2))
    rows = []
    for place, length in enumerate(survey.lengths):
        rows += [
            Row(f"norm {length:g}, W{block + 1}: constant, narrowest / widest", f"<= {claim:.3g}", ratio)
            for block, (claim, ratio) in enumerate(ratios[place].tolist())
        ]
        rows.append(Row(f"norm {length:g}: share above the bound", 0.0, broken[place].item()))
    return rows
