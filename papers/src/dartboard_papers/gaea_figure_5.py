"""GAEA figure 5: the cell that XNAS recommends at every epoch, looked up in NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from collections.abc import Sequence

from scipy.stats import binom

from dartboard.scoreboard import BenchRecord
from dartboard.space import get_space
from dartboard_papers._bench import BenchScale, choose_benchmark, run_bench
from dartboard_papers._bench_summary import accuracies, edges, remarks, size, spread
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.gaea_figure_4 import LATE, SETUP, draw, final_skips, nearly_all, numbers, seed_rows

XNAS = "xnas"
SKIPS = "XNAS ends with nearly all skips"


def chance_of_skips(records: Sequence[BenchRecord]) -> float:
    """How often cells with random ops have at most one edge on average that is no skip connection."""
    settings, total = records[0].settings["space"], edges(records[0]) * len(records)
    (_, cell), *_ = get_space(settings["name"]).groups
    ops = len(set(cell.edges[0].ops) - set(settings["without"]))
    return float(binom.sf(total - len(records) - 1, total, 1 / ops))


@reproduction(
    "gaea-figure-5",
    about="the cell that XNAS recommends at every epoch, looked up in NAS-Bench-201",
    claim="XNAS behaves as DARTS does and converges to nearly all skip connections",
    rules={SKIPS: "on average at most one edge of XNAS' final cells is no skip connection"},
    setup=SETUP,
    minutes=4,
    laptop=BenchScale(),
    full=BenchScale(epochs=25, cells=5, channels=16, pixels=32),
    takes=("data", "table"),
    check=choose_benchmark,
)
def reproduce(options: RunOptions, scale: BenchScale) -> ReproductionResult:
    """Searches with XNAS, or reads records of searches."""
    bench = run_bench(choose_benchmark(options, scale), (XNAS,), options, scale)
    records, dataset = bench.groups[XNAS], bench.datasets[0]
    skip_count, alike = final_skips(records), nearly_all(records)
    observed = f"{skip_count:.1f} of {edges(records[0])}"
    test_accuracies = ", ".join(f"{100 * record.final.test[dataset]:.1f}" for record in records)
    return ReproductionResult(
        rows=[
            Row("XNAS: skip connections at the end", "nearly all", skip_count),
            Row(f"XNAS: test accuracy at the end, {dataset}", None, spread(accuracies(records, dataset))),
            *seed_rows(XNAS, records, dataset),
        ],
        parts={SKIPS: PartResult(alike, observed, chance_of_skips(records))},
        sentence=f"Of {edges(records[0])} edges {skip_count:.1f} are skip connections at the end, on the "
        f"mean, {'' if alike else 'not '}nearly all; the cells have test accuracies of {test_accuracies} %.",
        size=size(bench),
        seeds=bench.seeds,
        figures={"learning-curves": draw(bench)},
        numbers=numbers(bench),
        remarks=[*remarks(bench), LATE],
    )
