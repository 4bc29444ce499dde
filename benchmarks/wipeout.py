"""How much cheaper a step of XNAS becomes as candidates are wiped out.

Candidates are removed as its wipeout removes them, in a random order, evenly over the edges, from all alive
to one an edge. Whole steps at every level alternate in one process; times are medians. The images are random,
32x32.

usage: python benchmarks/wipeout.py [--cells N] [--threads N] [--json]
"""

import argparse
import json
from random import Random

import torch

from _common import make_searcher, median_seconds
from dartboard.search import Searcher
from dartboard.space import get_space

LEVELS = (7, 6, 5, 4, 3, 2, 1)
"""Candidates alive on every edge."""


def thin_out(searcher: Searcher, alive: int) -> None:
    """Leaves so many candidates on every edge; fewer are always among more."""
    rng, relaxation = Random(0), searcher.relaxation
    for arch, cell in searcher.space.archs:
        for edge, own in enumerate(cell.edges):
            order = rng.sample(range(len(own.ops)), len(own.ops))
            for place in order[alive:]:
                relaxation.kill(arch, edge, place)
    searcher.prune()


def measure(cells: int, batch: int, repeats: int) -> list[dict[str, float]]:
    """A row for every level."""
    space = get_space("xnas").resized(cells)
    searchers = {}
    for alive in LEVELS:
        searchers[alive] = make_searcher(space, "xnas", batch=batch)
        searchers[alive].train_step()  # so that there is momentum to be dropped
        thin_out(searchers[alive], alive)
    times = median_seconds({alive: own.train_step for alive, own in searchers.items()}, repeats)
    return [
        row(own, times[alive], searchers[LEVELS[0]], times[LEVELS[0]]) for alive, own in searchers.items()
    ]


def row(searcher: Searcher, taken: float, whole: Searcher, longest: float) -> dict[str, float]:
    """The figures of one level against those of all alive."""
    alive = count_alive(searcher)
    parameters, most = count_optimised(searcher), count_optimised(whole)
    return {
        "alive": alive,
        "share": alive / count_alive(whole),
        "seconds": taken,
        "ratio": taken / longest,
        "parameters": parameters,
        "parameters_share": parameters / most,
    }


def count_alive(searcher: Searcher) -> int:
    """Candidates that are alive, over all edges of all archs."""
    return sum(len(own) for arch in searcher.space.cells for own in searcher.relaxation.live(arch))


def count_optimised(searcher: Searcher) -> int:
    """Numbers that the weight optimizer trains."""
    return sum(own.numel() for group in searcher.optimizer.param_groups for own in group["params"])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="more than one measures the neighbours too")
    parser.add_argument("--json", action="store_true", help="each line is followed by a JSON object")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("ops alive  share  step s   step  parameters  share")
    for own in measure(options.cells, options.batch, options.repeats):
        print(
            f"{own['alive']:9}  {own['share']:5.2f}  {own['seconds']:6.3f}  {own['ratio']:5.2f}  "
            f"{own['parameters']:10,}  {own['parameters_share']:5.2f}",
            flush=True,
        )
        if options.json:
            print(json.dumps(own), flush=True)


if __name__ == "__main__":
    main()
