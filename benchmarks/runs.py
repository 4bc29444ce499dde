"""Time of `dartboard runs` for a list of many runs, including the start of the program.

The runs are finished searches of the DARTS space with 50 epochs each, written without training. `list_s`
is the whole program as a user starts it, `start_s` the same with an empty folder; `cpu_s` is the CPU time,
which does not depend on other load. The target for 1,000 runs is less than a second.

usage: python benchmarks/runs.py [--runs N] [--epochs N] [--rounds N] [--json]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _common import median_seconds
from report import make_run

PROGRAM = Path(sys.executable).with_name("dartboard")


def make_runs(folder: Path, runs: int, epochs: int) -> Path:
    """A folder with copies of a run, without `epochs/`, which a list does not read."""
    first = make_run(folder / "first", epochs)
    shutil.rmtree(first / "epochs")
    many = folder / "many"
    many.mkdir()
    for number in range(runs):
        shutil.copytree(first, many / f"gaea-darts-darts-digits-s{number}")
    return many


def list_runs(folder: Path) -> None:
    """List the runs of a folder with the command."""
    subprocess.run([PROGRAM, "runs", folder], check=True, stdout=subprocess.DEVNULL)


def cpu_seconds(folder: Path) -> float:
    """CPU seconds of a list."""
    before = os.times()
    list_runs(folder)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(runs: int, epochs: int, rounds: int) -> dict[str, float]:
    """All results by name."""
    with tempfile.TemporaryDirectory() as name:
        many, none = make_runs(Path(name), runs, epochs), Path(name) / "none"
        none.mkdir()
        results = median_seconds(
            {"list_s": lambda: list_runs(many), "start_s": lambda: list_runs(none)}, rounds
        )
        results["cpu_s"] = statistics.median(cpu_seconds(many) for _ in range(rounds))
    return results


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = measure(args.runs, args.epochs, args.rounds)
    if args.json:
        print(json.dumps(results))
        return
    print("\n".join(f"{name:10} {value:9.3f}" for name, value in results.items()))


if __name__ == "__main__":
    main()
