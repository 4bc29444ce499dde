"""Write one small run of each kind in the current format, finished and interrupted, as test fixtures.

    python scripts/make_format_runs.py tests/fixtures/runs-format-2

The directory must not exist yet. OUT/finished has one run of each kind, OUT/half-way the same, interrupted in
the middle without a chance to save, as by a kill. All paths are relative, but for that of the weights which
`from` starts from. The fixtures are used by tests/runs/test_old_runs.py, and never written again: each format
gets a folder of its own.
"""

import argparse
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from dartboard.cli.main import main
from dartboard.engine.loop import Loop
from make_old_runs import GENERATED, machine

SWEEP = """\
kind: sweep
do: search
settings: {space: nano, data: digits, epochs: 2, batch: 250, net.channels: 2, health.examples: 32}
grid: {seed: 0..1}
"""
SMALL = "--no-report --threads 1 batch=250 net.channels=2 checkpoint.keep=1"
TRAIN = f"--epochs 2 {SMALL} net.auxiliary=0 data.pad=1 data.flip=false"
PROTOCOL = "--no-report --threads 1 searches=1 short=1 keep=1 seeds=1 random=count " + " ".join(
    f"{group}.{setting}"
    for group, more in (("search", "health.examples=32"), ("train", "net.auxiliary=0"))
    for setting in ("epochs=2", "batch=250", "net.channels=2", "checkpoint.keep=1", more)
)
BENCH = (
    "epochs=2 batch=250 net.channels=2 health.examples=32 checkpoint.keep=1 queries=4 draws=10 correlation=5 "
    "--threads 1"
)
COMMANDS = {
    "search": (
        "search --space nano --method gaea-darts --data digits --out search --epochs 1 health.examples=32 "
        + SMALL,
        "search --resume search --epochs 3 --no-report",
    ),
    "train": (f"train ../finished/search --out train {TRAIN}",),
    "from": (f"train --from ../finished/train --out from {TRAIN} --seed 1",),
    "sweep": ("sweep ../sweep.yaml --executor here --threads 1 --out sweep",),
    "protocol": (f"protocol --space nano --method darts --data digits {PROTOCOL} --out protocol",),
    "bench": (f"bench --space nano --data cluttered-digits --methods darts --seeds 0-1 {BENCH} --out bench",),
}
"""Commands of each run; of several the last is the one that is interrupted."""
EPOCHS = {"search": 1, "train": 1, "from": 1, "sweep": 3, "protocol": 3, "bench": 3}
"""Epochs after which each is interrupted, over all runs inside."""


@contextmanager
def interrupted(epochs: int) -> Iterator[None]:
    """Inside, loops are interrupted where the next epoch would begin, after so many over all of them."""
    train_epoch, left = Loop._train_epoch, epochs

    def train_or_stop(loop: Loop[Any, Any]) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        train_epoch(loop)

    Loop._train_epoch = train_or_stop  # type: ignore[method-assign]
    try:
        yield
    finally:
        Loop._train_epoch = train_epoch  # type: ignore[method-assign]


def make(out: Path) -> None:
    """Write all runs, and the machine they were made on."""
    out.mkdir(parents=True)
    (out / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    (out / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")
    for name, (*first, last) in COMMANDS.items():
        for folder in ("finished", "half-way"):
            (out / folder).mkdir(exist_ok=True)
            os.chdir(out / folder)
            for words in first:
                run(words)
            with interrupted(EPOCHS[name]) if folder == "half-way" else nullcontext():
                run(last, (0, 130))
        ended = [len(list((out / folder / name).rglob("result.json"))) for folder in ("finished", "half-way")]
        if ended[0] <= ended[1]:
            raise SystemExit(f"{name} was not interrupted")
    for pattern in GENERATED:
        for path in out.rglob(pattern):
            path.unlink()


def run(words: str, codes: tuple[int, ...] = (0,)) -> None:
    """Run a command of the program, which must end with one of these exit codes."""
    print(f"dartboard {words}", flush=True)
    if main(shlex.split(words)) not in codes:
        raise SystemExit("it failed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write small runs, half-way and finished.")
    parser.add_argument("out", type=Path)
    torch.set_num_threads(1)
    make(parser.parse_args().out.absolute())
