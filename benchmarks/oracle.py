"""How long NAS-Bench-201 takes to load and to answer, and how much memory it holds.

Loading and asking are timed in this process, after one that does not count. Memory is what a process that has
imported everything grows by at most when it loads the table, ranks it, asks once a data set and sorts out
isomorphic cells. The aims are a load below 0.2 s, a query below 50 microseconds and memory below 50 MB.

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
    """Load the table and ask for everything once."""
    oracle = load_nb201(path)
    for dataset in oracle.datasets:
        best = oracle.best(dataset)
        oracle.ranking(dataset).standing(oracle.query(best, dataset).test)
        oracle.isomorphic(best)


def median(run: Callable[[], object], rounds: int) -> float:
    """Median seconds of a run; the first does not count."""
    return statistics.median([seconds(run) for _ in range(rounds + 1)][1:])


def measure(path: Path, rounds: int, queries: int) -> dict[str, float]:
    """All figures by name."""
    memory = in_fork(lambda: added_memory(lambda: use_all(path)))
    load = median(lambda: load_nb201(path), rounds)
    oracle, rng = load_nb201(path), Random(0)
    asked = [(sample(oracle.space, rng), rng.choice(oracle.datasets)) for _ in range(queries)]
    query = median(lambda: [oracle.query(*question) for question in asked], rounds) / queries
    ranked = median(
        lambda: [oracle.ranking(question[1]).standing(oracle.query(*question).test) for question in asked],
        rounds,
    )
    return {
        "file_kB": path.stat().st_size / 1e3,
        "load_s": load,
        "query_us": 1e6 * query,
        "query_and_rank_us": 1e6 * ranked / queries,
        "memory_MB": memory / 1e6,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    table = Path(os.environ.get("DARTBOARD_DATA", "")) / "nb201.csv.gz"
    if not table.is_file():
        print("not measured: DARTBOARD_DATA does not name a folder with nb201.csv.gz")
        return
    found = measure(table, args.rounds, args.queries)
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:18} {value:9.3f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
