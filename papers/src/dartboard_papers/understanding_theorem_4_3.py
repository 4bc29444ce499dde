"""Theorem 4.3 of Shu et al.: gradient variances of the widest and the narrowest linear cell.

The theorem supposes that sigma bounds the variances of the widest cell "for any W". That covers the products
W_k ... W_1 of the narrowest cell's weights, with which the widest cell has the same output, and for which
equation 4 of the proof is true; so the bound is judged with the variances there, the least that such a sigma
can be. With those at the same weights, which figure 26 may suggest, it fails; that is reported. What the
paper concludes, that the narrowest cell's variance is larger, is looked at beside it. Variances are in the
2-norm, as the proof's are.
"""

from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.theory.linear_problems import LOSSES, Survey
from dartboard_papers.theory.plots import draw_variance
from dartboard_papers.understanding_theorem_4_2 import LARGER_RULE, LinearCells, judge_larger, survey_cells

BOUND = "the bound"
CONCLUSION = "the narrowest cell's variances are larger where norms are above 1"
LATE = (
    "The rule was changed twice: the claim was judged first at the same output, then at the same weights, "
    "where it "
    'did not hold; "for any W" covers the former.'
)
REMARKS = (
    "The proof sets the slopes of both cells equal: so they are for linear losses, and at the same output.",
    "With sigma at the same weights it fails: targets that the widest cell meets make them zero.",
    "That the bound is larger does not say that the variance is; the second part looks at that.",
    LATE,
)
NAMES = ("widest", "narrowest", "same", "bound")


@reproduction(
    "understanding-theorem-4-3",
    about="gradient variances of linear cells against the bound of the theorem",
    claim="the narrowest cell's gradient variance is at most n times a sum of those of the widest, for any "
    "weights, scaled by squares of the norms, so that it is significantly larger",
    rules={
        BOUND: "no variance is above it with the sigma of the widest cell at the products of the weights, "
        "in any problem and with any loss",
        CONCLUSION: f"with each loss, {LARGER_RULE}",
    },
    minutes=1,
    laptop=LinearCells(),
)
def reproduce(options: RunOptions, scale: LinearCells) -> ReproductionResult:
    """Compares exact variances of random cells with the bound, in both readings."""
    surveys = {loss: survey_cells(options, scale, loss) for loss in LOSSES}
    same, output = (_share(surveys, name) for name in ("variance_same", "variance_bound"))
    above = f"{100 * output:.2g} % of the variances are above the bound"
    ratios = [survey.ratios("variance") for survey in surveys.values()]
    parts = {
        BOUND: PartResult(output == 0, above, None),
        CONCLUSION: judge_larger(ratios, tuple(scale.lengths)),
    }
    return ReproductionResult(
        rows=[row for loss, survey in surveys.items() for row in _rows(loss, survey)],
        parts=parts,
        sentence=f"{above} with the widest cell's at the products of the weights, {100 * same:.2g} % with "
        "those at the same weights",
        size=f"{scale.words()}, {len(surveys)} losses",
        seeds=scale.problems,
        figures={f"variance-{loss}": draw_variance(survey) for loss, survey in surveys.items()},
        numbers={
            loss: {name: survey.stacked(f"variance_{name}").tolist() for name in NAMES}
            | {"lengths": survey.lengths}
            for loss, survey in surveys.items()
        },
        remarks=REMARKS,
    )


def _share(surveys: dict[str, Survey], bound: str) -> float:
    """Fraction of variances that are above the bound, over all losses."""
    shares = [
        survey.broken("variance_narrowest", bound).double().mean().item() for survey in surveys.values()
    ]
    return sum(shares) / len(shares)


def _rows(loss: str, survey: Survey) -> list[Row]:
    rows = []
    broken = {name: survey.broken("variance_narrowest", f"variance_{name}") for name in ("same", "bound")}
    ratios = survey.ratios("variance").median(1).values.tolist()
    for place, (length, ratio) in enumerate(zip(survey.lengths, ratios, strict=True)):
        what = f"{loss} loss, norm {length:g}"
        rows += [
            Row(f"{what}: variance, narrowest / widest", "larger", ratio),
            Row(f"{what}: above the bound, same weights", None, broken["same"][place].double().mean().item()),
            Row(f"{what}: above the bound, products", 0.0, broken["bound"][place].double().mean().item()),
        ]
    return rows
