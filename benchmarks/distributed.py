"""Communication and efficiency of a search over two processes.

Two processes with one thread each run on this machine. Rank 0 takes steps alone with the whole batch, then
both take steps with half of it each; these alternate, and times are medians. The efficiency is the time of
one process over twice the time of two; it is meaningful only with two idle cores. Bytes are counted in
`all_reduce`. The last table estimates what a step of a search on ImageNet would exchange over 64 GPUs, and
how long that takes at several link speeds.

usage: python benchmarks/distributed.py [--rounds N] [--batch N] [--json]
"""

import argparse
import json
import math
import multiprocessing
import os
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from _common import make_searcher
from dartboard.arch.microbatch import local_statistics
from dartboard.distributed import Group
from dartboard.distributed.process_group import join_group
from dartboard.nn import CellNet, NetConfig, count_flops, count_parameters
from dartboard.search import Searcher
from dartboard.space import get_space

CASES = {
    "nb201, gaea-darts": ("nb201", 1, "gaea-darts", {}),
    "darts, pc-darts": ("darts", 4, "pc-darts", {"warmup": 0}),
}
"""Space, cells, method and its options."""
IMAGENET = {"darts": 1, "pc-darts": 4}
"""Searches of the DARTS space, with the K of their partial channels."""
PARTS = ("weights", "statistics", "architecture")
LINKS = {"10 Gb/s": 1.25e9, "100 Gb/s": 12.5e9, "400 Gb/s": 50e9}
"""Bytes per second in each direction."""
RANKS, IMAGES = 64, 16
"""Number of GPUs, and images per batch on each."""
DELAY = 1e-5
"""Latency between two ranks in seconds, 2 log2 RANKS times in a tree: an assumption."""
SPEED = 5e12
"""Operations per second of a GPU in such a network: an assumption."""


CALLS = 6
"""Exchanges per step that are not overlapped: architecture, statistics, three sums, the last gradients."""
TREE = 2 * math.log2(RANKS) * DELAY
PASSES = 6
"""Cost of a step in forward passes: one, and two for the backward pass, for architecture and weights."""


class AllReduceCounter:
    """Counts the bytes passed to `all_reduce`, and the seconds it takes."""

    def __init__(self) -> None:
        self.bytes: Counter[int] = Counter()
        self.calls, self.seconds = 0, 0.0
        self._call = dist.all_reduce

    def __enter__(self) -> "AllReduceCounter":
        dist.all_reduce = self._all_reduce
        return self

    def __exit__(self, *_: object) -> None:
        dist.all_reduce = self._call

    def _all_reduce(self, tensor: Tensor, *args: Any, **options: Any) -> Any:
        self.bytes[tensor.numel() * tensor.element_size()] += 1
        self.calls += 1
        start = time.perf_counter()
        try:
            return self._call(tensor, *args, **options)
        finally:
            self.seconds += time.perf_counter() - start


def exchanged_bytes(searcher: Searcher) -> dict[str, int]:
    """Bytes that a step of a search exchanges, from the sizes of its tensors."""
    net, relaxation = searcher.net, searcher.relaxation
    return {
        "weights": _bytes(searcher.objective.weights),
        "statistics": _bytes([*local_statistics(net), *relaxation.running_means()]),
        "architecture": _bytes(relaxation.arch_parameters()),
    }


def _bytes(tensors: Sequence[Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def worker(rank: int, port: int, options: dict[str, Any], connection: Connection) -> None:
    """Entry point of the two processes; rank 0 sends the results."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    with join_group(torch.device("cpu")) as group:
        results = {name: measure(group, *case, **options) for name, case in CASES.items()}
        if not rank:
            connection.send(results)


def make(space: str, cells: int, method: str, options: dict[str, Any], batch: int, **more: Any) -> Searcher:
    """The search of a case."""
    return make_searcher(get_space(space).resized(cells), method, batch=batch, **options, **more)


def measure(group: Group, *case: Any, rounds: int, batch: int) -> dict[str, float]:
    """Seconds per step of one process and of two, and the bytes that two exchange."""
    alone = make(*case, batch)
    shared = {sync: make(*case, batch, group=group, sync_norms=sync) for sync in (False, True)}
    times: dict[str, list[float]] = {"alone": [], "shared": [], "synchronised": []}
    counted = {"shared": AllReduceCounter(), "synchronised": AllReduceCounter()}
    for _ in range(rounds + 1):
        times["alone"].append(_timed_step(group, alone.train_step, group.rank == 0))
        for name, sync in (("shared", False), ("synchronised", True)):
            with counted[name]:
                times[name].append(_timed_step(group, shared[sync].train_step, True))
    medians = {name: statistics.median(values[1:]) for name, values in times.items()}
    steps = rounds + 1
    return {
        **medians,
        "bytes": sum(size * count for size, count in counted["shared"].bytes.items()) / steps,
        "calls": counted["shared"].calls / steps,
        "exchange": counted["shared"].seconds / steps,
        "sync_bytes": sum(size * count for size, count in counted["synchronised"].bytes.items()) / steps,
        "sync_calls": counted["synchronised"].calls / steps,
        **exchanged_bytes(shared[False]),
    }


def _timed_step(group: Group, step: Callable[[], None], active: bool) -> float:
    """Seconds of a step, with a barrier before and after it."""
    group.any(False)
    start = time.perf_counter()
    if active:
        step()
    elapsed = time.perf_counter() - start
    group.any(False)
    return elapsed


def on_imagenet() -> dict[str, dict[str, float]]:
    """Estimated communication of searches on ImageNet over many GPUs, from the sizes of the networks."""
    results = {}
    for name, partial in IMAGENET.items():
        config = NetConfig(channels=16, classes=1000, input=(3, 224, 224), partial=partial, search=True)
        space = get_space("darts").resized(8)
        net = CellNet(space, config)
        estimate = {
            "weights": 4.0 * count_parameters(net),
            "statistics": float(_bytes(local_statistics(net))),
            "architecture": 4.0 * (2 * 14 * 8 + (2 * 14 if partial > 1 else 0)),
        }
        estimate["sent"] = 2 * (RANKS - 1) / RANKS * sum(estimate.values())
        estimate["norms"] = len(local_statistics(net)) / 2
        estimate["compute"] = PASSES * IMAGES * count_flops(space, config) / SPEED
        estimate |= {link: estimate["sent"] / speed + CALLS * TREE for link, speed in LINKS.items()}
        results[name] = estimate
    return results


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    options = {"rounds": args.rounds, "batch": args.batch}
    processes = [context.Process(target=worker, args=(rank, port, options, send)) for rank in range(2)]
    for process in processes:
        process.start()
    results = receive.recv()
    for process in processes:
        process.join()
    estimates = on_imagenet()
    if args.json:
        print(json.dumps({"measured": results, "imagenet": estimates}))
        return
    show(results, args.batch)
    show_estimate(estimates)


def show(results: dict[str, dict[str, float]], batch: int) -> None:
    """Print the measurements."""
    print(f"a step with a batch of {batch}, one thread a process")
    for name, row in results.items():
        efficiency = row["alone"] / (2 * row["shared"])
        sync = row["alone"] / (2 * row["synchronised"])
        print(f"{name}: one {1e3 * row['alone']:.0f} ms, two {1e3 * row['shared']:.0f} ms: {efficiency:.0%}")
        print(f"  batch-norms synchronized {1e3 * row['synchronised']:.0f} ms: {sync:.0%}")
        parts = ", ".join(f"{part} {row[part] / 1e6:.4f}" for part in PARTS)
        print(f"  exchanged {row['bytes'] / 1e6:.4f} MB in {row['calls']:.1f} calls: {parts}")
        print(
            f"  batch-norms synchronized: {row['sync_bytes'] / 1e6:.4f} MB in {row['sync_calls']:.0f} calls"
        )


def show_estimate(estimates: dict[str, dict[str, float]]) -> None:
    """Print the estimates for ImageNet on 64 GPUs."""
    print(f"ImageNet, {RANKS} GPUs with {IMAGES} images each, 8 cells, 16 channels; MB of a step")
    for name, row in estimates.items():
        parts = ", ".join(f"{part} {row[part] / 1e6:.3f}" for part in PARTS)
        times = ", ".join(f"{link} {1e3 * row[link]:.1f}" for link in LINKS)
        print(f"{name}: {parts}; each GPU sends {row['sent'] / 1e6:.1f} MB: {times} ms")
        waits = 1e3 * 4 * row["norms"] * TREE
        print(f"  computation {1e3 * row['compute']:.1f} ms; {row['norms']:.0f} norms: {waits:.0f} ms")


if __name__ == "__main__":
    main()
