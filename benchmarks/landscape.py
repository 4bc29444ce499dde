"""Points per second of a loss landscape against a plain loop, and memory against the size of the grid.

The plain loop is the straightforward implementation: at every point a copy of the state_dict is moved
along the directions and loaded into the network, which then runs over batches that are normalized on the
fly. `PointEvaluator` moves the weights in place, in channels-last layout, over images that were normalized
once. Both compute the same losses with the same number of threads, and alternate in one process; results
are medians. With --jobs the same grid is also computed by several processes of one thread each, including
their startup. Memory is the peak growth of a process, for two grids.

usage: python benchmarks/landscape.py [--cells N] [--channels N] [--images N] [--jobs N] [--json]
"""

import argparse
import json
from collections.abc import Callable

import torch
import torch.nn.functional as F

from _common import added_memory, in_fork, median_seconds, seconds
from dartboard.analysis.grid import GridOptions, PointEvaluator, make_problem
from dartboard.analysis.landscape import landscape
from dartboard.analysis.measures import draw_direction, weights_of
from dartboard.data import ImageSet, evaluation_batches
from dartboard.nn import CellNet, Model, NetConfig
from dartboard.space import adopt, get_published, get_space

BATCH = 128
"""Batch size of the plain loop."""


def make(cells: int, channels: int, images: int, side: int) -> tuple[Model, ImageSet]:
    """DARTS' cell with random weights, and random images."""
    torch.manual_seed(0)
    space = adopt(get_space("darts"), get_published("darts-v2")).resized(cells)
    net = CellNet(space, NetConfig(channels=channels, input=(3, side, side))).eval()
    pixels = torch.randint(256, (images, 3, side, side), dtype=torch.uint8)
    model = Model(net, tuple("0123456789"), (127.0,) * 3, (74.0,) * 3)
    return model, ImageSet(pixels, torch.arange(images) % 10)


def plain(model: Model, images: ImageSet, options: GridOptions) -> Callable[[int, int], float]:
    """The plain loop: a function from row and column to the loss."""
    net, names = model.net, list(weights_of(model.net))
    center = {name: value.clone() for name, value in net.state_dict().items()}
    pair = [draw_direction([center[name] for name in names], number, seed=options.seed) for number in (1, 2)]
    directions = [dict(zip(names, direction, strict=True)) for direction in pair]

    def measure(row: int, column: int) -> float:
        a, b = float(options.steps[column]), float(options.steps[row])
        state = {name: value.clone() for name, value in center.items()}
        for name in names:
            state[name] += a * directions[0][name] + b * directions[1][name]
        net.load_state_dict(state)
        total = 0.0
        with torch.no_grad():
            for x, y in evaluation_batches(images, batch=BATCH, mean=model.mean, std=model.std):
                total += F.cross_entropy(net(x), y, reduction="sum").item()
        return total / len(images)

    return measure


def measure(
    model: Model, images: ImageSet, options: GridOptions, repeats: int, jobs: int
) -> dict[str, float]:
    """Points per second of each implementation, and the ratios to the plain loop."""
    evaluator, loop = (
        PointEvaluator(make_problem(model, images, None, options), "cpu"),
        plain(model, images, options),
    )
    for point in ((0, 0), (1, 2)):
        assert abs(evaluator(point) / loop(*point) - 1) < 1e-3, "the two losses differ"
    implementations = {"plain": lambda: loop(0, 1), "surveyor": lambda: evaluator((0, 1))}
    results = {name: 1 / elapsed for name, elapsed in median_seconds(implementations, repeats).items()}
    results["ratio"] = results["surveyor"] / results["plain"]
    if jobs > 1:
        elapsed = seconds(lambda: landscape(model, images, options, jobs=jobs))
        results |= {
            "jobs": options.grid**2 / elapsed,
            "jobs_ratio": options.grid**2 / elapsed / results["plain"],
        }
    return results


def memory(model: Model, images: ImageSet, grid: int) -> int:
    """Peak memory in bytes that a landscape adds to a process."""
    options = GridOptions(grid=grid, examples=len(images), batch=32)
    return in_fork(lambda: added_memory(lambda: landscape(model, images, options)))


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, default=5)
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--side", type=int, default=16, help="side of the images in pixels")
    parser.add_argument("--grid", type=int, default=11)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument(
        "--threads", type=int, default=1, help="with more than one, other load affects the times"
    )
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model, images = make(args.cells, args.channels, args.images, args.side)
    few = ImageSet(images.images[:32], images.labels[:32])
    memory_by_grid = {grid: memory(model, few, grid) for grid in (3, 13)}
    options = GridOptions(grid=args.grid, radius=0.1, examples=args.images)
    results = measure(model, images, options, args.repeats, args.jobs)
    results |= {f"memory_MB_{grid}x{grid}": size / 1e6 for grid, size in memory_by_grid.items()}
    if args.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:16} {value:9.3f}" for name, value in results.items()))


if __name__ == "__main__":
    main()
