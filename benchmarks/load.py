"""Growth of what commands cost with many runs, long runs and large sweeps: CPU time and peak memory.

Trees are written by the library without training: folders of short searches, one search of many epochs with
a checkpoint before its last one, and sweeps of searches that train nothing (`random`). Each command runs in a
process of its own, once for each of three sizes. `cpu_s` and `memory_mb` are those of that process at the
largest size, the former without imports; the exponents are of the growth between the sizes, without what
the smallest costs: 1 is linear, NaN is none. Wall times are not measured, so other load does not matter.

`--executor ray` runs the sweep on Ray; the CPU time is then that of the driver alone, as it is for the pool.

usage: python benchmarks/load.py [--runs N] [--epochs N] [--jobs N] [--executor NAME] [--only PART] [--json]
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

STEPS = (100, 10, 1)
"""The three sizes are the largest one divided by these."""
PROGRAM = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, {folder!r})
{imports}
start = time.process_time()
{code}
cpu = time.process_time() - start
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
Path({out!r}).write_text(json.dumps([cpu, peak]))
"""
TREES = "import _trees"
LIST = "import dartboard.cli.main, dartboard.runs.listing, dartboard.cli.runs.compare"
TORCH = "import dartboard.cli.main, dartboard.report, dartboard.sweep.plan, dartboard.search"
"""What programs import; that takes seconds with torch, more than what is measured, and is left out."""
Cost = tuple[float, float]
"""CPU seconds and megabytes."""
Row = dict[str, float]


def cost_of(imports: str, code: str) -> Cost:
    """What a piece of a program costs in a process of its own; imports count for the memory alone."""
    with tempfile.TemporaryDirectory() as name:
        out = str(Path(name) / "cost.json")
        folder = str(Path(__file__).parent)
        program = PROGRAM.format(folder=folder, imports=imports, code=code, out=out)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(
            [sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, env=environment
        )
        cpu, peak = json.loads(Path(out).read_text())
    return cpu, peak


def cost_of_command(imports: str, *words: object) -> Cost:
    """What a command costs."""
    return cost_of(imports, f"assert dartboard.cli.main.main({[str(word) for word in words]!r}) == 0")


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Exponent of the growth from the second size to the third, above the cost of the first; NaN for none."""
    first, second, third = costs
    if not first < second < third:
        return math.nan
    return math.log((third - first) / (second - first)) / math.log(
        (sizes[2] - sizes[0]) / (sizes[1] - sizes[0])
    )


Part = Callable[[Path, int], Iterator[tuple[str, Cost]]]
"""Makes a tree of a size in a folder; costs of commands by name."""


def many_runs(folder: Path, count: int) -> Iterator[tuple[str, Cost]]:
    """A folder of finished searches of 20 epochs."""
    yield "write", cost_of(TREES, f"_trees.make_runs(Path({str(folder)!r}), {count})")
    runs = sorted(folder.iterdir())
    yield "runs", cost_of_command(LIST, "runs", folder)
    yield "runs check", cost_of_command(LIST, "runs", "check", folder)
    yield "runs compare", cost_of_command(LIST, "runs", "compare", *runs)
    yield "report", cost_of_command(TORCH, "report", *runs, "--out", folder / "report.html")


def many_epochs(folder: Path, count: int) -> Iterator[tuple[str, Cost]]:
    """A search whose last epoch is missing."""
    run = folder / "run"
    yield "record", cost_of(TREES, f"_trees.make_long_run(Path({str(run)!r}), {count})")
    yield "runs show", cost_of_command(LIST, "runs", "show", run)
    yield "runs compare", cost_of_command(LIST, "runs", "compare", run, folder / "run" / ".." / "run")
    yield "runs check", cost_of_command(LIST, "runs", "check", run)
    yield "report", cost_of_command(TORCH, "report", run, "--out", folder / "report.html")
    yield "search --resume", cost_of_command(TORCH, "search", "--resume", run, "--quiet", "--no-report")


def many_jobs(executor: str) -> Part:
    """A sweep of searches by random choice, in processes, and what it costs to find that nothing is left."""

    def measure(folder: Path, count: int) -> Iterator[tuple[str, Cost]]:
        file = folder / "sweep.yaml"
        file.write_text(
            f"settings: {{space: nano, data: digits, method: random}}\ngrid: {{seed: 0..{count - 1}}}\n"
        )
        out = folder / "out"
        options = ("--executor", executor, "--jobs", 1, "--threads", 1, "--quiet")
        yield f"sweep ({executor})", cost_of_command(TORCH, "sweep", file, "--out", out, *options)
        yield "sweep, resumed", cost_of_command(TORCH, "sweep", file, "--out", out, *options)
        yield "sweep --show", cost_of_command(TORCH, "sweep", out, "--show")
        yield "runs", cost_of_command(LIST, "runs", out)
        yield "report", cost_of_command(TORCH, "report", out, "--out", folder / "report.html")

    return measure


def measure(part: Part, largest: int) -> dict[str, Row]:
    """By command, its costs at the largest size, and how they grow."""
    sizes = [max(largest // step, number + 2) for number, step in enumerate(STEPS)]
    costs: dict[str, list[Cost]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "tree"
            folder.mkdir()
            for command, cost in part(folder, size):
                costs.setdefault(command, []).append(cost)
            shutil.rmtree(folder)
    return {
        command: {
            "cpu_s": pairs[-1][0],
            "cpu exponent": exponent(sizes, [cpu for cpu, _ in pairs]),
            "memory_mb": pairs[-1][1],
            "memory exponent": exponent(sizes, [peak for _, peak in pairs]),
        }
        for command, pairs in costs.items()
    }


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--executor", choices=("pool", "ray"), default="pool")
    parser.add_argument("--only", choices=("runs", "epochs", "jobs"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    parts: dict[str, tuple[Part, int]] = {
        "runs": (many_runs, args.runs),
        "epochs": (many_epochs, args.epochs),
        "jobs": (many_jobs(args.executor), args.jobs),
    }
    results: dict[str, dict[str, Row]] = {}
    for name, (part, largest) in parts.items():
        if args.only not in (None, name):
            continue
        results[f"{largest} {name}"] = measure(part, largest)
        if not args.json:
            print(f"{largest} {name}")
            for command, row in results[f"{largest} {name}"].items():
                print(
                    f"  {command:18}" + "".join(f"  {key} {value:9.2f}" for key, value in row.items()),
                    flush=True,
                )
    if args.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
