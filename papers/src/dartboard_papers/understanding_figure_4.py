"""Understanding figure 4: DARTS' cell and two of its variants at a low and at a high learning rate.

Settled before the first training: the claim held if at both learning rates the original cell has the largest
area under the curve of the test accuracy, in the mean over seeds, and its lead over C3, the narrower of the
two variants, is larger at the higher rate. That C3 "completely fails to converge" at the higher rate, which
the paper says besides, is reported and not judged. Variants are drawn as those of figure 3 are, from another
draw. Gradients are clipped at a norm of 5, as DARTS has it; the paper does not say whether its are.
"""

from collections.abc import Mapping

from pydantic import Field

from dartboard.analysis.comparison import ACCURACY, Comparison
from dartboard_papers._understanding_training import FULL, KEPT, Variants, area, size, train
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction
from dartboard_papers.understanding_figure_3 import ORIGINAL, apart, family, names

VARIANTS = 4
"""Number of variants that are drawn, as for figure 3."""
SHOWN = (ORIGINAL, "c1", "c3")
FAILS = "fails to converge"


class Figure4(Variants):
    """How large figure 4 is."""

    low: float = Field(default=0.0025, gt=0, description="the lower learning rate")
    high: float = Field(default=0.25, gt=0, description="the higher learning rate")


@reproduction(
    "understanding-figure-4",
    about="test accuracy of DARTS' cell and two randomly connected variants at two other learning rates",
    claim="the original cell learns fastest at both learning rates, by more at the higher one",
    minutes=4,
    laptop=Figure4(),
    full=Figure4(**FULL),
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Figure4) -> ReproductionResult:
    """Compares the areas under the curves of accuracy at both learning rates."""
    variants = family(VARIANTS, scale.draw)
    cells = {label: variants[label] for label in SHOWN}
    comparison, titles = train(options, scale, cells, [scale.low, scale.high]), names(cells)
    fastest = {lr: _fastest(comparison, lr) for lr in (scale.low, scale.high)}
    leads = {lr: _lead(comparison, lr) for lr in (scale.low, scale.high)}
    held = set(fastest.values()) == {ORIGINAL} and leads[scale.high] > leads[scale.low]
    last = comparison.final(SHOWN[-1], scale.high, ACCURACY)
    here = "it broke off" if last is None else f"it came to a test accuracy of {100 * last:.1f} %"
    return ReproductionResult(
        rows=_rows(comparison, scale, titles),
        verdict=Verdict.HELD if held else Verdict.NOT_HELD,
        sentence=f"{titles[fastest[scale.low]]} learned fastest at {scale.low:g} and "
        f"{titles[fastest[scale.high]]} at {scale.high:g}; the original's lead over C3 in mean accuracy is "
        f"{100 * leads[scale.low]:.1f} points at the lower rate and {100 * leads[scale.high]:.1f} at the "
        "higher.",
        size=size(options, scale),
        seeds=scale.seeds,
        figures={"curves": comparison.plot([ACCURACY], titles)},
        numbers=comparison.facts(),
        remarks=[
            KEPT,
            *apart(scale.draw),
            f"That C3 fails to converge at {scale.high:g} in the paper is not judged; here {here}.",
        ],
    )


def _fastest(comparison: Comparison, lr: float) -> str:
    return max(comparison.cells, key=lambda label: area(comparison, label, lr, ACCURACY))


def _lead(comparison: Comparison, lr: float) -> float:
    return area(comparison, ORIGINAL, lr, ACCURACY) - area(comparison, SHOWN[-1], lr, ACCURACY)


def _rows(comparison: Comparison, scale: Figure4, titles: Mapping[str, str]) -> list[Row]:
    """Mean and final accuracies in percent, and the fastest cell."""
    rows = []
    for lr in (scale.low, scale.high):
        for label, name in titles.items():
            mean = 100 * area(comparison, label, lr, ACCURACY)
            rows.append(Row(f"mean test accuracy over the epochs at {lr:g}, {name} (%)", None, mean))
        rows.append(Row(f"fastest at {lr:g}", titles[ORIGINAL], titles[_fastest(comparison, lr)]))
        rows.append(
            Row(f"lead of the original over C3 at {lr:g} (points)", None, 100 * _lead(comparison, lr))
        )
    last = comparison.final(SHOWN[-1], scale.high, ACCURACY)
    return [
        *rows,
        Row(
            f"C3 at {scale.high:g}, test accuracy at the end (%)",
            FAILS,
            FAILS if last is None else 100 * last,
        ),
    ]
