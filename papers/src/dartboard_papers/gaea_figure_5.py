"""GAEA figure 5: the cell that XNAS recommends at every epoch, looked up in NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from dartboard_papers._bench import BenchScale, choose_benchmark, run_bench
from dartboard_papers._bench_summary import accuracies, edges, judge, remarks, size, spread
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.gaea_figure_4 import draw, final_skips, nearly_all, numbers, seed_rows

XNAS = "xnas"


@reproduction(
    "gaea-figure-5",
    about="the cell that XNAS recommends at every epoch, looked up in NAS-Bench-201",
    claim="XNAS behaves as DARTS does and converges to nearly all skip connections",
    minutes=3,
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
    test_accuracies = ", ".join(f"{100 * record.final.test[dataset]:.1f}" for record in records)
    return ReproductionResult(
        rows=[
            Row("XNAS: skip connections at the end", "nearly all", skip_count),
            Row(f"XNAS: test accuracy at the end, {dataset}", None, spread(accuracies(records, dataset))),
            *seed_rows(XNAS, records, dataset),
        ],
        verdict=judge(alike),
        sentence=f"Of {edges(records[0])} edges {skip_count:.1f} are skip connections at the end, on the "
        f"mean, {'' if alike else 'not '}nearly all; the cells have test accuracies of {test_accuracies} %.",
        size=size(bench),
        seeds=bench.seeds,
        figures={"learning-curves": draw(bench)},
        numbers=numbers(bench),
        remarks=list(remarks(bench)),
    )
