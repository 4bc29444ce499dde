"""ASM-NAS figure 3: how much a supernet minds when one mixed edge becomes the op that was chosen for it.

Both methods search the same space, cells that share nothing and keep all 14 edges, with the same images; then
one edge of one cell at a time becomes its chosen op, all others stay mixed, and the accuracy on held-out
images is measured. The paper shows one cell of each method and does not say which: here are all cells. A
chosen `none` means no edge, for both. The rate of DARTS' architecture is larger than the paper's in the
proportion in which there are fewer steps.

The test, fixed before any search was done: the mean size of the change, over all edges and seeds, is smaller
with ASM than with DARTS.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import Field

from dartboard.analysis.stability import RunStability, Stabilities, measure
from dartboard.search.config import SearchConfig
from dartboard_papers._amended import keep_space
from dartboard_papers._asm import SmallSearch, asm_space, settings, size
from dartboard_papers._searches import configure, searches
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Verdict, reproduction

METHODS = ("asm", "darts")


class Stability(SmallSearch):
    """How large the searches are, and how fast DARTS decides."""

    rate: float = Field(default=0.025, gt=0, description="learning rate of DARTS' architecture")


PAPER = Stability(
    cells=15,
    channels=16,
    epochs=30,
    batch=64,
    lr=0.025,
    rate=3e-4,
    examples=25_000,
    seeds=1,
    pad=4,
    flip=True,
    images="cifar10",
)


def plan(scale: Stability, space: str, data: str | None) -> dict[str, SearchConfig]:
    """All searches, by method and seed."""
    methods = {"asm": {"name": "asm"}, "darts": {"name": "darts", "lr": scale.rate}}
    return {
        f"{method}-s{seed}": configure(settings(scale, space, data, seed), {"method": methods[method]})
        for method in METHODS
        for seed in range(scale.seeds)
    }


def mean_change(runs: Sequence[RunStability]) -> float:
    """Mean size of the change, over all edges and seeds."""
    return float(np.mean([run.mean_change for run in runs]))


@reproduction(
    "asm-nas-figure-3",
    about="accuracy of the supernet when one edge becomes the op chosen for it",
    claim="the change in accuracy induced by one selected operation is smaller with ASM-NAS than with DARTS",
    minutes=5,
    laptop=Stability(),
    full=PAPER,
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Stability) -> ReproductionResult:
    """Searches with both methods, then makes one edge at a time discrete."""
    space = keep_space(asm_space(scale.cells), options.folder)
    runs = searches(plan(scale, space, options.data), options)
    groups = {
        method: [
            measure(runs[f"{method}-s{seed}"], options.device, progress=options.tell)
            for seed in range(scale.seeds)
        ]
        for method in METHODS
    }
    return judge(groups, size(scale, options.data))


def judge(groups: Mapping[str, Sequence[RunStability]], size: str) -> ReproductionResult:
    """Result from the changes of both methods."""
    stabilities = Stabilities(groups)
    asm, darts = (mean_change(groups[method]) for method in METHODS)
    return ReproductionResult(
        rows=[row for method, runs in groups.items() for row in _rows(method, runs)],
        verdict=Verdict.HELD if asm < darts else Verdict.NOT_HELD,
        sentence=f"one decided edge changed the accuracy by {asm:.2%} with ASM and by {darts:.2%} with DARTS",
        size=size,
        seeds=len(groups[METHODS[0]]),
        figures={"stability": stabilities.plot()},
        numbers=stabilities.facts(),
        remarks=["the paper gives its figure alone, without numbers"],
    )


def _rows(method: str, runs: Sequence[RunStability]) -> list[Row]:
    """The means over seeds, each seed in brackets."""
    values_by_quantity = {
        "accuracy, all edges mixed": [run.accuracy for run in runs],
        "mean size of the change": [run.mean_change for run in runs],
        "worst change": [run.worst for run in runs],
    }
    return [
        Row(
            f"{method}: {what}",
            None,
            f"{np.mean(values):.2%} ({', '.join(f'{value:.2%}' for value in values)})",
        )
        for what, values in values_by_quantity.items()
    ]
