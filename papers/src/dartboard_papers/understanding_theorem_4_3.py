"""Theorem 4.3 of Shu et al.: gradient variances of the widest and the narrowest linear cell.

Two losses, two readings: the widest cell with the same weights, which is what the figure compares, and the
widest cell with the same output, for which equation 4 of the proof is true. The claim held if in the first
reading no variance of the narrowest cell is above the bound; in the second none can be. That the narrowest
cell's variance is significantly larger, which the paper concludes, is reported and not judged.
"""

from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction
from dartboard_papers.theory.linear_problems import LOSSES, Survey
from dartboard_papers.theory.plots import draw_variance
from dartboard_papers.understanding_theorem_4_2 import LinearCells, survey_cells

LATE = (
    "The test was changed after a first result: at the same output, where it is bound to hold, the claim was "
    "judged at first, and held."
)
REMARKS = (
    "The proof sets the slopes of both cells equal: so they are for linear losses, and at the same output.",
    "With variances at the same weights it fails: targets that the widest cell meets make them zero.",
    "That the bound is larger does not say that the variance is; the ratios do, which are not judged.",
    LATE,
)
NAMES = ("widest", "narrowest", "same", "bound")


@reproduction(
    "understanding-theorem-4-3",
    about="gradient variances of linear cells against the bound of the theorem",
    claim="the narrowest cell's gradient variance is at most n times a sum of those of the widest with the "
    "same weights, scaled by squares of the norms",
    minutes=1,
    laptop=LinearCells(),
)
def reproduce(options: RunOptions, scale: LinearCells) -> ReproductionResult:
    """Compares exact variances of random cells with the bound, in both readings."""
    surveys = {loss: survey_cells(options, scale, loss) for loss in LOSSES}
    same = _share(surveys, "variance_same")
    output = _share(surveys, "variance_bound")
    return ReproductionResult(
        rows=[row for loss, survey in surveys.items() for row in _rows(loss, survey)],
        verdict=Verdict.NOT_HELD if same else Verdict.HELD,
        sentence=f"With the widest cell's variances at the same weights {100 * same:.2g} % of the "
        f"narrowest's are above the bound, with those at the same output {100 * output:.2g} %; the variance "
        f"is larger in the narrowest cell {_larger(surveys)}.",
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


def _larger(surveys: dict[str, Survey]) -> str:
    """At which norms the median of the whole variance is larger in the narrowest cell, with every loss."""
    lengths = next(iter(surveys.values())).lengths
    where = [
        f"{length:g}"
        for index, length in enumerate(lengths)
        if min(_ratios(survey)[index] for survey in surveys.values()) > 1
    ]
    return f"at norms of {', '.join(where)}" if where else "at no norm"


def _ratios(survey: Survey) -> list[float]:
    """Median over problems of the whole variance, narrowest / widest, for each norm."""
    narrow, wide = (survey.stacked(f"variance_{name}").sum(-1) for name in ("narrowest", "widest"))
    return [float(ratio) for ratio in (narrow / wide).median(1).values]


def _rows(loss: str, survey: Survey) -> list[Row]:
    rows = []
    broken = {name: survey.broken("variance_narrowest", f"variance_{name}") for name in ("same", "bound")}
    for place, (length, ratio) in enumerate(zip(survey.lengths, _ratios(survey), strict=True)):
        what = f"{loss} loss, norm {length:g}"
        rows += [
            Row(f"{what}: variance, narrowest / widest", "larger", ratio),
            Row(f"{what}: above the bound, same weights", 0.0, broken["same"][place].double().mean().item()),
            Row(f"{what}: above the bound, same output", 0.0, broken["bound"][place].double().mean().item()),
        ]
    return rows
