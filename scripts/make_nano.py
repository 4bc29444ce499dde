"""Makes the nano benchmark: trains all 216 cells of nano with several seeds, and packs what came of it.

    python scripts/make_nano.py WORK --workers 2          # may be stopped and run again
    python scripts/make_nano.py WORK --pack src/dartboard/tables/nano.npz

Each training is a small file in WORK. Packing writes the .npz and its sha256, and prints how well the
benchmark tells architectures apart.
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
from dartboard.jobs.executors.pool import PoolExecutor
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
    """How the benchmark was made, for those who want to make it again."""
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
    """Writes the benchmark and its checksum."""
    arrays = gather(PLAN, work)
    held = io.BytesIO()
    told = json.dumps(facts(float(arrays["seconds"].sum())), sort_keys=True)
    np.savez_compressed(held, facts=np.array(told), **arrays)
    digest = hashlib.sha256(held.getvalue()).hexdigest()
    write_bytes(out, held.getvalue())
    write_text(out.with_suffix(".sha256"), f"{digest}  {out.name}\n")
    print(f"{out}: {len(held.getvalue()) / 1000:,.1f} kB, sha256 {digest}")
    describe(arrays["test"][:, :, -1] / len(load_dataset(PLAN.data).test or ()))


def describe(tests: np.ndarray) -> None:
    """Prints how far cells are apart, how far seeds are, and how well seeds agree; tests [cells, seeds]."""
    between, within = tests.mean(axis=1).std(ddof=1), np.sqrt(tests.var(axis=1, ddof=1).mean())
    print(f"test accuracy from {100 * tests.mean(1).min():.2f} to {100 * tests.mean(1).max():.2f} %")
    print(f"deviation between cells {100 * between:.2f}, between seeds {100 * within:.2f} points")
    pairs = [(one, two) for two in range(tests.shape[1]) for one in range(two)]
    found = [spearmanr(tests[:, one], tests[:, two]).statistic for one, two in pairs]
    print("rank correlation between seeds", ", ".join(f"{value:.3f}" for value in found))


def main() -> None:
    """Train what is left, or pack what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("work", type=Path, help="where the trainings are")
    parser.add_argument("--workers", type=int, default=2, help="processes that train (default: 2)")
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
        sys.stderr.write("\nstopped; the same command goes on\n")
        os._exit(130)  # what is being trained is not waited for


def train(work: Path, workers: int) -> None:
    """Does the trainings that are left, and says how far it is."""
    began = time.perf_counter()
    for done, total in make(PLAN, work, PoolExecutor(jobs=workers, threads=1)):
        passed = time.perf_counter() - began
        sys.stderr.write(f"\r{done} of {total} trainings, {passed:.0f} s")
    sys.stderr.write("\n")


if __name__ == "__main__":
    main()
