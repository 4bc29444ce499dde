"""GAEA figure 4: the cell that DARTS and GAEA DARTS recommend at every epoch, looked up in NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from dartboard.scoreboard.published_results import TRANSFER
from dartboard.utils.statistics import Summary
from dartboard_papers._bench import BenchResults, Searches, choose_benchmark, run_bench
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
    check=choose_benchmark,
)
def reproduce(options: RunOptions, scale: Searches) -> ReproductionResult:
    """Searches with both methods, or reads records of searches."""
    bench = run_bench(choose_benchmark(options, scale), (DARTS, GAEA), options, scale)
    tested = check(bench)
    return ReproductionResult(
        rows=rows(bench),
        verdict=judge(*tested),
        sentence=in_words(bench, tested),
        size=size(bench),
        seeds=bench.seeds,
        figures={"learning-curves": draw(bench)},
        numbers=numbers(bench),
        remarks=list(remarks(bench)),
    )


def check(bench: BenchResults) -> tuple[bool | None, ...]:
    """Whether DARTS ends with nearly all skip connections, GAEA does not, and GAEA's cells are better."""
    darts, gaea = bench.groups.get(DARTS), bench.groups.get(GAEA)
    first = nearly_all(darts) if darts else None
    second = not nearly_all(gaea) if gaea else None
    dataset = bench.datasets[0]
    third = accuracies(gaea, dataset).mean > accuracies(darts, dataset).mean if darts and gaea else None
    return first, second, third


def in_words(bench: BenchResults, tested: tuple[bool | None, ...]) -> str:
    """Sentence about the final cells of both methods."""
    came = [f"{title(label)} {final_skips(records):.1f}" for label, records in bench.groups.items()]
    words = {True: "GAEA's cells are better", False: "GAEA's cells are no better", None: "one is missing"}
    total = edges(bench.records[0])
    return f"Of {total} edges {' and '.join(came)} are skip connections at the end; {words[tested[2]]}."


def rows(bench: BenchResults) -> list[Row]:
    """Skip connections and accuracies of the final cells, and every seed."""
    dataset, words = bench.datasets[0], {DARTS: "nearly all", GAEA: "not nearly all"}
    lines: list[Row] = []
    for label, records in bench.groups.items():
        paper = TRANSFER[label]
        known = Summary(paper.means[PAPER], paper.deviations[PAPER], 1) if dataset in paper.means else None
        lines += [
            Row(f"{title(label)}: skip connections at the end", words[label], final_skips(records)),
            Row(
                f"{title(label)}: test accuracy at the end, {dataset}",
                None if known is None else spread(known),
                spread(accuracies(records, dataset)),
            ),
            *seed_rows(label, records, dataset),
        ]
    return lines
