"""GAEA figure 4: what DARTS and GAEA DARTS would choose at every epoch, by the word of NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from dartboard.scoreboard.published import TRANSFER
from dartboard.utils.statistics import Summary
from dartboard_papers._bench import Board, Searches, choose_world, make_board
from dartboard_papers._bench_summary import accuracies, edges, judge, remarks, size, spread, title
from dartboard_papers._learning_curves import draw, final_skips, nearly_all, numbers, seed_rows
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

DARTS, GAEA = "darts", "gaea-darts"
PAPER = "cifar10"


@reproduction(
    "gaea-figure-4",
    about="the cell that DARTS and GAEA DARTS recommend at every epoch, looked up in NAS-Bench-201",
    claim="DARTS converges to nearly all skip connections while GAEA does not, and finds better cells",
    minutes=4,
    laptop=Searches(),
    full=Searches(epochs=25, cells=5, channels=16, pixels=32),
    takes=("data", "table"),
    check=choose_world,
)
def reproduce(options: RunOptions, scale: Searches) -> ReproductionResult:
    """Searches with both, or records of them, from epoch to epoch."""
    board = make_board(choose_world(options, scale), (DARTS, GAEA), options, scale)
    tested = check(board)
    return ReproductionResult(
        rows=rows(board),
        verdict=judge(*tested),
        sentence=in_words(board, tested),
        size=size(board),
        seeds=board.seeds,
        figures={"learning-curves": draw(board)},
        numbers=numbers(board),
        remarks=list(remarks(board)),
    )


def check(board: Board) -> tuple[bool | None, ...]:
    """Whether DARTS comes to nearly all skips, GAEA does not, and what GAEA finds is better."""
    darts, gaea = board.groups.get(DARTS), board.groups.get(GAEA)
    first = nearly_all(darts) if darts else None
    second = not nearly_all(gaea) if gaea else None
    dataset = board.datasets[0]
    third = accuracies(gaea, dataset).mean > accuracies(darts, dataset).mean if darts and gaea else None
    return first, second, third


def in_words(board: Board, tested: tuple[bool | None, ...]) -> str:
    """What each came to, in a sentence."""
    came = [f"{title(label)} {final_skips(own):.1f}" for label, own in board.groups.items()]
    words = {True: "GAEA's cells are better", False: "GAEA's cells are no better", None: "one is missing"}
    total = edges(board.records[0])
    return f"Of {total} edges {' and '.join(came)} are skip connections at the end; {words[tested[2]]}."


def rows(board: Board) -> list[Row]:
    """Skip connections and accuracies at the end, and every seed."""
    dataset, words = board.datasets[0], {DARTS: "nearly all", GAEA: "not nearly all"}
    found: list[Row] = []
    for label, own in board.groups.items():
        paper = TRANSFER[label]
        known = Summary(paper.means[PAPER], paper.deviations[PAPER], 1) if dataset in paper.means else None
        found += [
            Row(f"{title(label)}: skip connections at the end", words[label], final_skips(own)),
            Row(
                f"{title(label)}: test accuracy at the end, {dataset}",
                None if known is None else spread(known),
                spread(accuracies(own, dataset)),
            ),
            *seed_rows(label, own, dataset),
        ]
    return found
