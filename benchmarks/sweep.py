"""Overhead of a sweep: against the same runs in a shell loop, and with 1,000 runs.

`loop` is `for s in ...; do dartboard search ...; done`, `sweep` the same searches by `dartboard sweep`
with one job; `two loops` are two such loops in parallel, `sweep, 2 jobs` the same searches by a sweep with
two. All are whole programs as a user starts them, interleaved, one thread per run. Wall times need an idle
machine; CPU time, summed over all processes, does not. `ratio` is a sweep against its loop: the target is
less than 1.03. The driver is measured with an executor that finishes jobs at once: peak memory of the
process, and CPU time per run.

usage: python benchmarks/sweep.py [--runs N] [--epochs N] [--rounds N] [--many N] [--json]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from _common import in_fork, status
from dartboard.jobs.job import Job, JobResult
from dartboard.runs.text_files import to_yaml
from dartboard.sweep.config import validate
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.sweep import Sweep

PROGRAM = Path(sys.executable).with_name("dartboard")
SETTINGS = ("batch=64", "net.channels=8", "health.examples=256")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def loop(folder: Path, seeds: Sequence[int], epochs: int) -> "subprocess.Popen[bytes]":
    """A shell that runs one search after the other."""
    arguments = " ".join([*SETTINGS, f"epochs={epochs}", "--threads 1 --quiet --no-report"])
    command = f"{PROGRAM} search seed=$s {arguments} --out {folder}/s$s"
    script = f"for s in {' '.join(map(str, seeds))}; do {command}; done"
    return subprocess.Popen(["/bin/sh", "-ec", script], stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def sweep(folder: Path, runs: int, epochs: int, jobs: int) -> "subprocess.Popen[bytes]":
    """A sweep of the same searches."""
    file = folder.with_suffix(".yaml")
    settings = "\n".join(f"  {setting.replace('=', ': ')}" for setting in (*SETTINGS, f"epochs={epochs}"))
    file.write_text(f"settings:\n{settings}\ngrid:\n  seed: 0..{runs - 1}\n")
    options = ["--out", folder, "--jobs", jobs, "--threads", 1, "--quiet"]
    command = [PROGRAM, "sweep", file, *options]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def timed(start: Callable[[Path], Sequence["subprocess.Popen[bytes]"]]) -> tuple[float, float]:
    """Wall seconds until all processes have exited, and CPU seconds of them and their children."""
    with tempfile.TemporaryDirectory() as name:
        before, start_time = os.times(), time.perf_counter()
        for process in start(Path(name) / "out"):
            assert process.wait() == 0
        wall, after = time.perf_counter() - start_time, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu


def overhead(runs: int, epochs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Median wall and CPU seconds of each variant, and the ratios of sweeps to their loops."""
    variants: dict[str, Callable[[Path], Sequence[subprocess.Popen[bytes]]]] = {
        "loop": lambda out: [loop(out, range(runs), epochs)],
        "sweep": lambda out: [sweep(out, runs, epochs, 1)],
        "two loops": lambda out: [loop(out, range(first, runs, 2), epochs) for first in (0, 1)],
        "sweep, 2 jobs": lambda out: [sweep(out, runs, epochs, 2)],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, start in variants.items():
            times[name].append(timed(start))
    results = {
        name: {
            "wall_s": statistics.median(wall for wall, _ in pairs),
            "cpu_s": statistics.median(cpu for _, cpu in pairs),
        }
        for name, pairs in times.items()
    }
    for name, baseline in (("sweep", "loop"), ("sweep, 2 jobs", "two loops")):
        results[name] |= {
            f"{key} ratio": results[name][key] / results[baseline][key] for key in ("wall_s", "cpu_s")
        }
    return results


class InstantExecutor:
    """An executor that finishes jobs at once; their runs are copies of a real one."""

    capacity = 8

    def __init__(self, model: Path) -> None:
        self._model, self._jobs = model, deque[Job]()

    def submit(self, job: Job) -> None:
        """Copy the run, with the configuration of the job."""
        self._jobs.append(job)
        shutil.copytree(self._model, job.path)
        (job.path / "config.yaml").write_text(to_yaml(job.config))

    def completed(self, seconds: float) -> Sequence[JobResult]:  # noqa: ARG002
        """Results of all jobs since the last call."""
        results = [JobResult(job, "finished") for job in self._jobs]
        self._jobs.clear()
        return results

    def stop(self) -> None:
        """No-op: no job is running."""

    def close(self) -> None:
        """No-op: there are no resources."""


def make_model(folder: Path) -> Path:
    """A finished search."""
    process = sweep(folder, 1, 2, 1)
    assert process.wait() == 0
    return folder / "search" / "darts-s0"


def drive(model: Path, runs: int) -> tuple[int, float]:
    """Peak memory in bytes and CPU seconds of a driver with `runs` runs, including imports."""
    with tempfile.TemporaryDirectory() as name:
        settings = {key: int(value) for key, value in (setting.split("=") for setting in SETTINGS)}
        config = validate({"settings": settings, "grid": {"seed": f"0..{runs - 1}"}})
        start_time = time.process_time()
        planner = SweepPlanner(config, Path(name) / "out")
        planner.rehearse()
        Sweep(planner, InstantExecutor(model)).run()
        return status("VmHWM"), time.process_time() - start_time


def driver(many: int) -> dict[str, dict[str, float]]:
    """Memory and CPU time of drivers with few and with many runs."""
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        model = make_model(Path(name) / "model")
        for runs in (10, many):
            peak = in_fork(lambda runs=runs: drive(model, runs)[0])
            milliseconds = in_fork(lambda runs=runs: round(1000 * drive(model, runs)[1]))
            results[f"driver, {runs} runs"] = {"memory_mb": peak / 1e6, "cpu_ms_a_run": milliseconds / runs}
    return results


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = driver(args.many) | overhead(args.runs, args.epochs, args.rounds)
    if args.json:
        print(json.dumps(results))
        return
    for name, row in results.items():
        print(f"{name:18}" + "".join(f"  {key} {value:10.3f}" for key, value in row.items()))


if __name__ == "__main__":
    main()
