"""Writes small runs of the version that is installed, half-way and finished, for the tests of later versions.

    python scripts/make_old_runs.py tests/fixtures/runs-0.1

Three minutes on one core. The directory must not exist yet. In OUT/finished is one run of each kind; in
OUT/half-way is the same run, stopped by a signal after an epoch was recorded, and so with the files that an
interrupted run has. All commands use relative paths, so that the tree can be copied. The tests that read it
are in tests/runs/test_old_runs.py.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

ONE_THREAD = ("--threads", "1")
PATIENCE = 120
"""A command that takes so many seconds is stuck."""
INTO = 0.05
"""Seconds that the next epoch has begun when a run is stopped: a few steps."""
SEARCH = (
    *("--space", "nano", "--data", "digits", "--epochs", "2", "--no-report", *ONE_THREAD),
    *("batch=64", "net.channels=4", "health.examples=64", "checkpoint.keep=1"),
)
SWEEP = """\
kind: sweep
do: search
settings:
  {space: nano, data: digits, epochs: 2, batch: 64, net.channels: 2, health.examples: 64, checkpoint.keep: 1}
grid: {method: [{name: darts, lr: 0.1}, {name: gaea-darts, lr: 1.0}], seed: 0..1}
"""
PROTOCOL = (
    *("--space", "nano", "--method", "darts", "--data", "digits", "--no-report", *ONE_THREAD),
    *("searches=1", "short=1", "keep=1", "seeds=1", "random=count"),
    *("search.epochs=2", "search.batch=64", "search.net.channels=2", "search.health.examples=64"),
    *("search.method.lr=0.1", "search.weights.lr=0.1", "search.checkpoint.keep=1"),
    *("train.epochs=3", "train.batch=64", "train.net.channels=2", "train.net.auxiliary=0"),
    *("train.weights.lr=0.1", "train.data.pad=1", "train.data.flip=false", "train.checkpoint.keep=1"),
)
BENCH = (
    *("--space", "nano", "--data", "cluttered-digits", "--methods", "darts,gaea-darts-erm", "--seeds", "0-1"),
    *("epochs=2", "batch=128", "net.channels=2", "health.examples=64", "weights.lr=0.1", "checkpoint.keep=1"),
    *("methods.darts.method.lr=0.1", "methods.gaea-darts-erm.method.lr=1.0"),
    *("queries=4", "draws=10", "correlation=5", *ONE_THREAD),
)
REMADE = ("report.html", "*.svg", "*.png")
"""Files that are not kept: they are large, and made anew from the others."""


@dataclass(frozen=True)
class Made:
    """A run to make.

    Args:
        name: Its directory.
        words: The command, without `--out`.
        watched: The run inside whose epochs are counted; its own directory by default.
        epochs: It is stopped when so many are recorded.
        by: The signal that stops it.
    """

    name: str
    words: tuple[str, ...]
    watched: str = "."
    epochs: int = 1
    by: signal.Signals = signal.SIGINT

    def command(self) -> list[str]:
        """The words behind `dartboard`."""
        return [*self.words, "--out", self.name]


def search(method: str, *words: str, by: signal.Signals = signal.SIGINT) -> Made:
    """A search that is called like its method."""
    return Made(method, ("search", "--method", method, *SEARCH, *words), by=by)


# Seeds and step sizes are such that processors that round differently find the same cells.
RUNS = (
    search("darts", "--seed", "2", "method.lr=0.1"),
    search("gaea-darts-erm", "--seed", "2", "method.lr=1.0"),
    search("pc-darts", "method.lr=0.1", "method.warmup=1", by=signal.SIGKILL),
    search("gdas", "--seed", "2", "method.lr=0.1"),
    search("xnas", "method.zeta=0.01"),  # five candidates are dropped before it is stopped
    search("asm", by=signal.SIGKILL),
    Made(
        "train",
        (
            *("train", "../finished/asm", "--epochs", "3", "--no-report", *ONE_THREAD),
            *("batch=64", "net.channels=4", "net.auxiliary=0", "weights.lr=0.1", "checkpoint.keep=1"),
            *("data.pad=1", "data.flip=false"),
        ),
    ),
    Made(
        "sweep",
        ("sweep", "../sweep.yaml", "--executor", "here", *ONE_THREAD),
        watched="search/gaea-darts-method.lr1.0-s0",
        by=signal.SIGKILL,
    ),
    Made("protocol", ("protocol", *PROTOCOL), watched="train/found-0", epochs=2),
    Made("bench", ("bench", *BENCH), watched="runs/darts-s1"),
)


def start(words: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    """The program, at work in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "dartboard", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603


def finish(made: Made, folder: Path) -> None:
    """Makes a run from its start to its end."""
    with start(made.command(), folder) as process:
        if process.wait(PATIENCE) != 0:
            raise SystemExit(f"{made.name} failed")


def stop(made: Made, folder: Path) -> None:
    """Makes a run until some of its epochs are recorded and saved, and stops it."""
    watched = folder / made.name / made.watched
    with start(made.command(), folder) as process:
        began = time.monotonic()
        while process.poll() is None and not is_saved(watched, made.epochs):
            time.sleep(0.001)
            if time.monotonic() > began + PATIENCE:
                process.kill()
        time.sleep(INTO)
        process.send_signal(made.by)
        process.wait(PATIENCE)
    if process.returncode not in (-signal.SIGKILL, 128 + signal.SIGINT) or (watched / "result.json").exists():
        raise SystemExit(f"{made.name} was not stopped in time; start again")


def is_saved(run: Path, epochs: int) -> bool:
    """Whether so many epochs are recorded, and the state after the last of them is saved."""
    try:
        rows = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return (
            len(rows) >= epochs and (run / f"checkpoints/step-{json.loads(rows[-1])['step']:010d}").exists()
        )
    except FileNotFoundError:
        return False


def machine() -> dict[str, str]:
    """What the last bits of a result depend on."""
    facts = dict(
        (part.strip() for part in line.split(":", 1))
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    kinds = ("sse", "ssse", "avx", "fma", "f16c", "amx")
    flags = sorted(flag for flag in facts.get("flags", "").split() if flag.startswith(kinds))
    return {
        "processor": facts.get("model name", "unknown"),
        "flags": " ".join(flags),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }


def make(out: Path) -> None:
    """Writes all runs, and what machine they were made on."""
    out.mkdir(parents=True)
    (out / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (out / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")
    for made in RUNS:
        print(f"dartboard {shlex.join(made.command())}  # half-way: {made.by.name}", flush=True)
        finish(made, out / "finished")
        stop(made, out / "half-way")
    for pattern in REMADE:
        for path in out.rglob(pattern):
            path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write small runs, half-way and finished.")
    parser.add_argument("out", type=Path)
    make(parser.parse_args().out)
