"""Build the nano benchmark: train all 216 cells of nano with several seeds, and pack the results.

    python scripts/make_nano.py WORK --workers 2          # can be stopped and resumed
    python scripts/make_nano.py WORK --pack src/dartboard/tables/nano.npz

Each training is a small file in WORK. Packing writes the .npz file and its sha256, and prints how well the
benchmark separates architectures.
"""

import argparse
import hashlib
import io
import json
import os
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

import dartboard
from dartboard.data import load_dataset
from dartboard.errors import DartboardError
from dartboard.jobs.executors.local import PoolExecutor
from dartboard.scoreboard.exhaustive import BenchmarkPlan, gather, make
from dartboard.utils.atomic import write_bytes, write_text

SEEDS = 3
OPTIONS = {
    "epochs": 12,
    "batch": 128,
    "net": {"channels": 8, "auxiliary": 0.0, "drop_path": 0.0},
    "data": {"pad": 0, "flip": False},
    "weights": {"lr": 0.2, "by": "step", "weight_decay": 5e-4, "nesterov": True},
    "evaluation": {"every": 12},
}
EVERY = 2
PLAN = BenchmarkPlan("nano", "cluttered-digits", OPTIONS, SEEDS, EVERY)


def facts(seconds: float) -> dict[str, object]:
    """Metadata of the benchmark: everything needed to rebuild it."""
    data = load_dataset(PLAN.data)
    parts = {"train": data.train, "valid": data.valid, "test": data.test}
    return {
        "space": PLAN.space,
        "data": PLAN.data,
        "images": {name: len(part) for name, part in parts.items() if part is not None},
        "fingerprints": {name: part.fingerprint() for name, part in parts.items() if part is not None},
        "options": OPTIONS,
        "every": EVERY,
        "versions": {
            "dartboard": dartboard.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "machine": f"{platform.machine()}, one thread a training",
        "seconds": round(seconds),
    }


def pack(work: Path, out: Path) -> None:
    """Write the benchmark and its checksum."""
    arrays = gather(PLAN, work)
    buffer = io.BytesIO()
    metadata = json.dumps(facts(float(arrays["seconds"].sum())), sort_keys=True)
    np.savez_compressed(buffer, facts=np.array(metadata), **arrays)
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    write_bytes(out, buffer.getvalue())
    write_text(out.with_suffix(".sha256"), f"{digest}  {out.name}\n")
    print(f"{out}: {len(buffer.getvalue()) / 1000:,.1f} kB, sha256 {digest}")
    describe(arrays["test"][:, :, -1] / len(load_dataset(PLAN.data).test or ()))


def describe(tests: np.ndarray) -> None:
    """Print the spread of cells and of seeds, and the rank correlation of seeds; tests [cells, seeds]."""
    between, within = tests.mean(axis=1).std(ddof=1), np.sqrt(tests.var(axis=1, ddof=1).mean())
    print(f"test accuracy from {100 * tests.mean(1).min():.2f} to {100 * tests.mean(1).max():.2f} %")
    print(f"std between cells {100 * between:.2f}, between seeds {100 * within:.2f} points")
    pairs = [(one, two) for two in range(tests.shape[1]) for one in range(two)]
    correlations = [spearmanr(tests[:, one], tests[:, two]).statistic for one, two in pairs]
    print("rank correlation between seeds", ", ".join(f"{value:.3f}" for value in correlations))


def main() -> None:
    """Train the missing cells, or pack the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the trainings")
    parser.add_argument("--workers", type=int, default=2, help="training processes (default: 2)")
    parser.add_argument("--pack", type=Path, metavar="FILE.npz", help="write the benchmark instead")
    args = parser.parse_args()
    try:
        if args.pack is not None:
            pack(args.work, args.pack)
        else:
            train(args.work, args.workers)
    except DartboardError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; run the same command to resume\n")
        os._exit(130)  # without waiting for running trainings


def train(work: Path, workers: int) -> None:
    """Run the missing trainings and print the progress."""
    start = time.perf_counter()
    for done, total in make(PLAN, work, PoolExecutor(jobs=workers, threads=1)):
        elapsed = time.perf_counter() - start
        sys.stderr.write(f"\r{done} of {total} trainings, {elapsed:.0f} s")
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
