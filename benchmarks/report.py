"""Size of the report of a long search, time to write it, and time to open it in a browser.

The search is one of the DARTS space with many epochs, written without training. Opening is timed from the
navigation until the page has loaded and its cell is drawn (open_s), and until its first chart is
(charts_s), after one warmup. The targets for 200 epochs are a file below 8 MB that opens in less than 2 s.

usage: python benchmarks/report.py [--epochs N] [--rounds N] [--json]
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from _common import seconds
from dartboard.relax.base import Strength
from dartboard.report import write_report
from dartboard.runs import Run
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH
from dartboard.search.record import to_json
from dartboard.search.select import strongest
from dartboard.space import get_space

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def make_run(path: Path, epochs: int) -> Path:
    """A finished search whose strengths go from equal to decided in a random walk."""
    space, rng = get_space("darts"), torch.Generator().manual_seed(0)
    config = search_config.resolved(SEARCH.validate({"space": "darts", "epochs": epochs}))
    logits = {arch: torch.zeros(cell.shape) for arch, cell in space.groups}
    with Run.create(path, config, space=space) as run:
        for epoch in range(epochs):
            for values in logits.values():
                values.add_(torch.randn(values.shape, generator=rng), alpha=0.2)
            strengths = {
                arch: Strength(values.softmax(-1), torch.ones(len(values))) for arch, values in logits.items()
            }
            genotype, progress = to_json(strongest(space, strengths)), (epoch + 1) / epochs
            as_lists = {
                arch: {"ops": strength.ops.tolist(), "edges": strength.edges.tolist()}
                for arch, strength in strengths.items()
            }
            run.record(epoch, metrics(epoch, progress), {"genotype": genotype, "strengths": as_lists})
        run.finish({"genotype": genotype, "epochs": epochs, "warnings": []} | metrics(epochs, 1.0))
    return path


def metrics(epoch: int, progress: float) -> dict[str, Any]:
    """Metrics of an epoch."""
    names = ("train_loss", "arch_loss", "train_accuracy", "valid_accuracy", "discrete_accuracy", "entropy")
    cells = {arch: {"entropy": 2 - progress, "alive": 112} for arch in ("normal", "reduce")}
    return {"seconds": 9.0 * epoch, "cells": cells, **dict.fromkeys(names, progress)}


def opening_times(page: Path, rounds: int) -> dict[str, float]:
    """Median seconds until the page is loaded, and until its first chart is drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        times = []
        for _ in range(rounds + 1):
            tab = browser.new_page()
            start = time.perf_counter()
            tab.goto(page.as_uri())
            loaded = time.perf_counter() - start
            tab.locator("#cells .wire").first.wait_for(state="attached")
            tab.evaluate("document.querySelector('#curves').scrollIntoView()")
            tab.locator(".plot .js-line").first.wait_for(state="attached")
            times.append((loaded, time.perf_counter() - start))
            tab.close()
        browser.close()
    columns = zip(*times[1:], strict=True)
    return dict(zip(("open_s", "charts_s"), map(statistics.median, columns), strict=True))


def measure(epochs: int, rounds: int) -> dict[str, float]:
    """All results by name."""
    with tempfile.TemporaryDirectory() as folder:
        run, page = make_run(Path(folder) / "run", epochs), Path(folder) / "report.html"
        write_report([run], page)
        results = {
            "write_s": statistics.median(seconds(lambda: write_report([run], page)) for _ in range(rounds)),
            "size_MB": page.stat().st_size / 1e6,
        }
        if CHROMIUM.is_file():
            results |= opening_times(page, rounds)
    return results


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = measure(args.epochs, args.rounds)
    if args.json:
        print(json.dumps(results))
        return
    print("\n".join(f"{name:10} {value:9.3f}" for name, value in results.items()))
    if "open_s" not in results:
        print(f"opening is not measured: there is no {CHROMIUM}")


if __name__ == "__main__":
    main()
