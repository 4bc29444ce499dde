"""Load time, query time and memory of the NAS-Bench-201 table.

Loading and queries are timed in this process, after one warmup round. Memory is the peak growth of a
process, with everything imported, when it loads the table, ranks it, queries each data set once and groups
isomorphic cells. The targets are a load below 0.2 s, a query below 50 microseconds and memory below 50 MB.

usage: DARTBOARD_DATA=FOLDER python benchmarks/oracle.py [--rounds N] [--queries N] [--json]
"""

import argparse
import json
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from random import Random

from _common import added_memory, in_fork, seconds
from dartboard.space import sample
from dartboard.tables import load_nb201


def use_all(path: Path) -> None:
    """Load the table and use every kind of query once."""
    table = load_nb201(path)
    for dataset in table.datasets:
        best = table.best(dataset)
        table.ranking(dataset).standing(table.query(best, dataset).test)
        table.isomorphic(best)


def median(run: Callable[[], object], rounds: int) -> float:
    """Median seconds of a run, after one warmup."""
    return statistics.median([seconds(run) for _ in range(rounds + 1)][1:])


def measure(path: Path, rounds: int, queries: int) -> dict[str, float]:
    """All results by name."""
    memory = in_fork(lambda: added_memory(lambda: use_all(path)))
    load = median(lambda: load_nb201(path), rounds)
    table, rng = load_nb201(path), Random(0)
    cells = [(sample(table.space, rng), rng.choice(table.datasets)) for _ in range(queries)]
    query = median(lambda: [table.query(*cell) for cell in cells], rounds) / queries
    ranking = median(
        lambda: [table.ranking(cell[1]).standing(table.query(*cell).test) for cell in cells],
        rounds,
    )
    return {
        "file_kB": path.stat().st_size / 1e3,
        "load_s": load,
        "query_us": 1e6 * query,
        "query_and_rank_us": 1e6 * ranking / queries,
        "memory_MB": memory / 1e6,
    }


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    path = Path(os.environ.get("DARTBOARD_DATA", "")) / "nb201.csv.gz"
    if not path.is_file():
        print("not measured: DARTBOARD_DATA does not name a folder with nb201.csv.gz")
        return
    results = measure(path, args.rounds, args.queries)
    if args.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:18} {value:9.3f}" for name, value in results.items()))


if __name__ == "__main__":
    main()
