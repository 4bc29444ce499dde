"""GAEA figure 5: what XNAS would choose at every epoch, by the word of NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from dartboard_papers._bench import Searches, choose_world, make_board
from dartboard_papers._bench_summary import accuracies, edges, judge, remarks, size, spread
from dartboard_papers._learning_curves import draw, final_skips, nearly_all, numbers, seed_rows
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

XNAS = "xnas"


@reproduction(
    "gaea-figure-5",
    about="the cell that XNAS recommends at every epoch, looked up in NAS-Bench-201",
    claim="XNAS behaves as DARTS does and converges to nearly all skip connections",
    minutes=3,
    laptop=Searches(),
    full=Searches(epochs=25, cells=5, channels=16, pixels=32),
    takes=("data", "table"),
    check=choose_world,
)
def reproduce(options: RunOptions, scale: Searches) -> ReproductionResult:
    """Searches with XNAS, or records of them, from epoch to epoch."""
    board = make_board(choose_world(options, scale), (XNAS,), options, scale)
    own, dataset = board.groups[XNAS], board.datasets[0]
    came, alike = final_skips(own), nearly_all(own)
    each = ", ".join(f"{100 * record.final.test[dataset]:.1f}" for record in own)
    return ReproductionResult(
        rows=[
            Row("XNAS: skip connections at the end", "nearly all", came),
            Row(f"XNAS: test accuracy at the end, {dataset}", None, spread(accuracies(own, dataset))),
            *seed_rows(XNAS, own, dataset),
        ],
        verdict=judge(alike),
        sentence=f"Of {edges(own[0])} edges {came:.1f} are skip connections at the end, on the mean, "
        f"{'' if alike else 'not '}nearly all; the cells have test accuracies of {each} %.",
        size=size(board),
        seeds=board.seeds,
        figures={"learning-curves": draw(board)},
        numbers=numbers(board),
        remarks=list(remarks(board)),
    )
