"""Time of an XNAS step as candidates are removed by wipeout.

Candidates are removed in random order, evenly over the edges, from all to one per edge. Steps at every
level alternate in one process; times are medians. The images are random, 32x32.

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
"""Candidates left on every edge."""


def remove_candidates(searcher: Searcher, alive: int) -> None:
    """Keep `alive` random candidates on every edge; smaller sets are subsets of larger ones."""
    rng, relaxation = Random(0), searcher.relaxation
    for arch, cell in searcher.space.groups:
        for index, edge in enumerate(cell.edges):
            order = rng.sample(range(len(edge.ops)), len(edge.ops))
            for op in order[alive:]:
                relaxation.kill(arch, index, op)
    searcher.prune()


def measure(cells: int, batch: int, repeats: int) -> list[dict[str, float]]:
    """A row for every level."""
    space = get_space("xnas").resized(cells)
    searchers = {}
    for alive in LEVELS:
        searchers[alive] = make_searcher(space, "xnas", batch=batch)
        searchers[alive].train_step()  # creates momentum buffers, which wipeout removes
        remove_candidates(searchers[alive], alive)
    times = median_seconds({alive: searcher.train_step for alive, searcher in searchers.items()}, repeats)
    return [
        row(searcher, times[alive], searchers[LEVELS[0]], times[LEVELS[0]])
        for alive, searcher in searchers.items()
    ]


def row(searcher: Searcher, step: float, full: Searcher, full_step: float) -> dict[str, float]:
    """Results of one level relative to those with all candidates."""
    alive = count_alive(searcher)
    parameters, all_parameters = count_trained(searcher), count_trained(full)
    return {
        "alive": alive,
        "share": alive / count_alive(full),
        "seconds": step,
        "ratio": step / full_step,
        "parameters": parameters,
        "parameters_share": parameters / all_parameters,
    }


def count_alive(searcher: Searcher) -> int:
    """Number of candidates left, over all edges of all decision groups."""
    return sum(len(ops) for arch in searcher.space.cells for ops in searcher.relaxation.live(arch))


def count_trained(searcher: Searcher) -> int:
    """Number of parameters in the weight optimizer."""
    return sum(
        parameter.numel() for group in searcher.optimizer.param_groups for parameter in group["params"]
    )


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--threads", type=int, default=1, help="with more than one, other load affects the times"
    )
    parser.add_argument("--json", action="store_true", help="each line is followed by a JSON object")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("ops alive  share  step s   step  parameters  share")
    for result in measure(options.cells, options.batch, options.repeats):
        print(
            f"{result['alive']:9}  {result['share']:5.2f}  {result['seconds']:6.3f}  {result['ratio']:5.2f}  "
            f"{result['parameters']:10,}  {result['parameters_share']:5.2f}",
            flush=True,
        )
        if options.json:
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
