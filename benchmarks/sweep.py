"""What a sweep costs beside its runs: against the same runs in a shell loop, and with 1,000 of them.

`loop` is `for s in ...; do dartboard search ...; done`, `sweep` the same searches by `dartboard sweep` with
one job; `two loops` are two such loops side by side, `sweep, 2 jobs` the same searches by a sweep with two.
All are whole programs as a user starts them, interleaved, one thread a run. Wall times need a machine that
does nothing else; what they cost the processor, all processes together, is the same on a busy one. `ratio` is
a sweep against its loop: the aim is less than 1.03. The driver's part is measured with an executor that ends
runs at once: memory of the process at its peak, and processor time a run.

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
WORDS = ("batch=64", "net.channels=8", "health.examples=256")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def loop(folder: Path, seeds: Sequence[int], epochs: int) -> "subprocess.Popen[bytes]":
    """A shell that does one search after the other."""
    words = " ".join([*WORDS, f"epochs={epochs}", "--threads 1 --quiet --no-report"])
    text = (
        f"for s in {' '.join(map(str, seeds))}; do {PROGRAM} search seed=$s {words} --out {folder}/s$s; done"
    )
    return subprocess.Popen(["/bin/sh", "-ec", text], stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def sweep(folder: Path, runs: int, epochs: int, jobs: int) -> "subprocess.Popen[bytes]":
    """A sweep of the same searches."""
    file = folder.with_suffix(".yaml")
    settings = "\n".join(f"  {word.replace('=', ': ')}" for word in (*WORDS, f"epochs={epochs}"))
    file.write_text(f"settings:\n{settings}\ngrid:\n  seed: 0..{runs - 1}\n")
    words = ["--out", folder, "--jobs", jobs, "--threads", 1, "--quiet"]
    command = [PROGRAM, "sweep", file, *words]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, env=ENVIRONMENT)


def timed(start: Callable[[Path], Sequence["subprocess.Popen[bytes]"]]) -> tuple[float, float]:
    """Seconds until all processes have ended, and what they and theirs cost the processor."""
    with tempfile.TemporaryDirectory() as name:
        before, begun = os.times(), time.perf_counter()
        for process in start(Path(name) / "out"):
            assert process.wait() == 0
        wall, after = time.perf_counter() - begun, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, spent


def overhead(runs: int, epochs: int, rounds: int) -> dict[str, dict[str, float]]:
    """Median wall and processor seconds of each way, and the ratios of sweeps to their loops."""
    ways: dict[str, Callable[[Path], Sequence[subprocess.Popen[bytes]]]] = {
        "loop": lambda out: [loop(out, range(runs), epochs)],
        "sweep": lambda out: [sweep(out, runs, epochs, 1)],
        "two loops": lambda out: [loop(out, range(first, runs, 2), epochs) for first in (0, 1)],
        "sweep, 2 jobs": lambda out: [sweep(out, runs, epochs, 2)],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, start in ways.items():
            times[name].append(timed(start))
    found = {
        name: {
            "wall_s": statistics.median(own[0] for own in each),
            "cpu_s": statistics.median(own[1] for own in each),
        }
        for name, each in times.items()
    }
    for name, other in (("sweep", "loop"), ("sweep, 2 jobs", "two loops")):
        found[name] |= {f"{key} ratio": found[name][key] / found[other][key] for key in ("wall_s", "cpu_s")}
    return found


class Instant:
    """An executor that ends jobs at once; their runs are copies of one that was really done."""

    room = 8

    def __init__(self, model: Path) -> None:
        self._model, self._jobs = model, deque[Job]()

    def begin(self, job: Job) -> None:
        """Copies the run, with the configuration of the job."""
        self._jobs.append(job)
        shutil.copytree(self._model, job.path)
        (job.path / "config.yaml").write_text(to_yaml(job.config))

    def ended(self, seconds: float) -> Sequence[JobResult]:  # noqa: ARG002
        """All that was begun."""
        found = [JobResult(job, "finished") for job in self._jobs]
        self._jobs.clear()
        return found

    def stop(self) -> None:
        """Nothing is under way."""

    def close(self) -> None:
        """Nothing is open."""


def make_model(folder: Path) -> Path:
    """A finished search."""
    process = sweep(folder, 1, 2, 1)
    assert process.wait() == 0
    return folder / "search" / "darts-s0"


def drive(model: Path, runs: int) -> tuple[int, float]:
    """Peak memory in bytes and processor seconds of a driver with so many runs, its imports among them."""
    with tempfile.TemporaryDirectory() as name:
        settings = {word.split("=")[0]: int(word.split("=")[1]) for word in WORDS}
        config = validate({"settings": settings, "grid": {"seed": f"0..{runs - 1}"}})
        begun = time.process_time()
        course = SweepPlanner(config, Path(name) / "out")
        course.rehearse()
        Sweep(course, Instant(model)).run()
        return status("VmHWM"), time.process_time() - begun


def driver(many: int) -> dict[str, dict[str, float]]:
    """Memory and processor time of drivers with few and with many runs."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        model = make_model(Path(name) / "model")
        for runs in (10, many):
            peak = in_fork(lambda runs=runs: drive(model, runs)[0])
            milliseconds = in_fork(lambda runs=runs: round(1000 * drive(model, runs)[1]))
            found[f"driver, {runs} runs"] = {"memory_mb": peak / 1e6, "cpu_ms_a_run": milliseconds / runs}
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = driver(args.many) | overhead(args.runs, args.epochs, args.rounds)
    if args.json:
        print(json.dumps(found))
        return
    for name, own in found.items():
        print(f"{name:18}" + "".join(f"  {key} {value:10.3f}" for key, value in own.items()))


if __name__ == "__main__":
    main()
