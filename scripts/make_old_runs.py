"""Write small interrupted and finished runs with the installed version, as test fixtures.

    python scripts/make_old_runs.py tests/fixtures/runs-0.1

Takes three minutes on one core. The directory must not exist yet. OUT/finished has one run of each kind;
OUT/half-way has the same run, stopped by a signal after an epoch was recorded, with the files of
an interrupted run. All commands use relative paths, so that the tree can be copied. The fixtures are used
by tests/runs/test_old_runs.py.
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
TIMEOUT = 120
"""Seconds after which a command counts as stuck."""
STOP_DELAY = 0.05
"""Seconds into the next epoch at which a run is stopped: a few steps."""
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
GENERATED = ("report.html", "*.svg", "*.png")
"""Files that are removed: large, and regenerated from the others."""


@dataclass(frozen=True)
class Fixture:
    """A run to write.

    Args:
        name: Name of its directory.
        arguments: The command, without `--out`.
        watched: The inner run whose epochs are counted; the directory itself by default.
        epochs: Number of recorded epochs after which it is stopped.
        stop_signal: The signal that stops it.
    """

    name: str
    arguments: tuple[str, ...]
    watched: str = "."
    epochs: int = 1
    stop_signal: signal.Signals = signal.SIGINT

    def command(self) -> list[str]:
        """Arguments of `dartboard`."""
        return [*self.arguments, "--out", self.name]


def search(method: str, *arguments: str, stop_signal: signal.Signals = signal.SIGINT) -> Fixture:
    """A search named after its method."""
    return Fixture(method, ("search", "--method", method, *SEARCH, *arguments), stop_signal=stop_signal)


# Seeds and learning rates are chosen so that all processors find the same cells despite rounding.
RUNS = (
    search("darts", "--seed", "2", "method.lr=0.1"),
    search("gaea-darts-erm", "--seed", "2", "method.lr=1.0"),
    search("pc-darts", "method.lr=0.1", "method.warmup=1", stop_signal=signal.SIGKILL),
    search("gdas", "--seed", "2", "method.lr=0.1"),
    search("xnas", "method.zeta=0.01"),  # wipeout removes five candidates before it is stopped
    search("asm", stop_signal=signal.SIGKILL),
    Fixture(
        "train",
        (
            *("train", "../finished/asm", "--epochs", "3", "--no-report", *ONE_THREAD),
            *("batch=64", "net.channels=4", "net.auxiliary=0", "weights.lr=0.1", "checkpoint.keep=1"),
            *("data.pad=1", "data.flip=false"),
        ),
    ),
    Fixture(
        "sweep",
        ("sweep", "../sweep.yaml", "--executor", "here", *ONE_THREAD),
        watched="search/gaea-darts-method.lr1.0-s0",
        stop_signal=signal.SIGKILL,
    ),
    Fixture("protocol", ("protocol", *PROTOCOL), watched="train/found-0", epochs=2),
    Fixture("bench", ("bench", *BENCH), watched="runs/darts-s1"),
)


def start(arguments: Sequence[str], folder: Path) -> "subprocess.Popen[bytes]":
    """Start the program in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "dartboard", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603


def finish(fixture: Fixture, folder: Path) -> None:
    """Run to the end."""
    with start(fixture.command(), folder) as process:
        if process.wait(TIMEOUT) != 0:
            raise SystemExit(f"{fixture.name} failed")


def stop(fixture: Fixture, folder: Path) -> None:
    """Run until the given epochs are recorded and saved, then stop it."""
    watched = folder / fixture.name / fixture.watched
    with start(fixture.command(), folder) as process:
        start_time = time.monotonic()
        while process.poll() is None and not is_saved(watched, fixture.epochs):
            time.sleep(0.001)
            if time.monotonic() > start_time + TIMEOUT:
                process.kill()
        time.sleep(STOP_DELAY)
        process.send_signal(fixture.stop_signal)
        process.wait(TIMEOUT)
    if process.returncode not in (-signal.SIGKILL, 128 + signal.SIGINT) or (watched / "result.json").exists():
        raise SystemExit(f"{fixture.name} was not stopped in time; start again")


def is_saved(run: Path, epochs: int) -> bool:
    """Whether `epochs` epochs are recorded, with a checkpoint of the last of them."""
    try:
        rows = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return (
            len(rows) >= epochs and (run / f"checkpoints/step-{json.loads(rows[-1])['step']:010d}").exists()
        )
    except FileNotFoundError:
        return False


def machine() -> dict[str, str]:
    """Properties of the machine that affect the last bits of results."""
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
    """Write all runs, and the machine they were made on."""
    out.mkdir(parents=True)
    (out / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (out / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")
    for fixture in RUNS:
        print(
            f"dartboard {shlex.join(fixture.command())}  # half-way: {fixture.stop_signal.name}", flush=True
        )
        finish(fixture, out / "finished")
        stop(fixture, out / "half-way")
    for pattern in GENERATED:
        for path in out.rglob(pattern):
            path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write small runs, half-way and finished.")
    parser.add_argument("out", type=Path)
    make(parser.parse_args().out)
