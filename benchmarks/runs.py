"""How long `dartboard runs` takes to list many runs, the start of the program included.

The runs are finished searches of the DARTS space with 50 epochs each, written without training. `list_s` is
the whole program as a user starts it, `start_s` the same with a folder without runs; `cpu_s` is what the list
costs the processor, which is the same on a machine that does other things too. The aim for 1,000 runs is less
than a second.

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
    """A folder with so many copies of a run, without the details of epochs, which a list does not read."""
    first = make_run(folder / "first", epochs)
    shutil.rmtree(first / "epochs")
    many = folder / "many"
    many.mkdir()
    for number in range(runs):
        shutil.copytree(first, many / f"gaea-darts-darts-digits-s{number}")
    return many


def listed(folder: Path) -> None:
    """Have the program list the runs of a folder."""
    subprocess.run([PROGRAM, "runs", folder], check=True, stdout=subprocess.DEVNULL)


def cpu_seconds(folder: Path) -> float:
    """What listing costs the processor."""
    before = os.times()
    listed(folder)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(runs: int, epochs: int, rounds: int) -> dict[str, float]:
    """All figures by name."""
    with tempfile.TemporaryDirectory() as name:
        many, none = make_runs(Path(name), runs, epochs), Path(name) / "none"
        none.mkdir()
        found = median_seconds({"list_s": lambda: listed(many), "start_s": lambda: listed(none)}, rounds)
        found["cpu_s"] = statistics.median(cpu_seconds(many) for _ in range(rounds))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = measure(args.runs, args.epochs, args.rounds)
    if args.json:
        print(json.dumps(found))
        return
    print("\n".join(f"{name:10} {value:9.3f}" for name, value in found.items()))


if __name__ == "__main__":
    main()
