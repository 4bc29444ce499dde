"""One loop over two processes: what is exchanged in a step, how long that takes, and what two are worth.

Two processes with one thread each meet in this machine's memory. Rank 0 takes steps alone with the whole
batch, then both take steps with half of it each; these alternate, and times are medians. The efficiency is
the time of one over twice the time of two; the machine must have two idle cores, or it says nothing. Bytes
are counted where they are handed over. The last table says what a step of a search on ImageNet would exchange
over 64 GPUs, and how long that takes over connections of several speeds.

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
from dartboard.arch.buffers import local_statistics
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
"""Searches of the DARTS space: one in so many channels passes the candidates."""
PARTS = ("weights", "statistics", "architecture")
LINKS = {"10 Gb/s": 1.25e9, "100 Gb/s": 12.5e9, "400 Gb/s": 50e9}
"""Bytes a second, each way."""
RANKS, IMAGES = 64, 16
"""GPUs, and images of a batch on each."""
DELAY = 1e-5
"""Seconds from rank to rank however little is sent, of which a tree has 2 log2 RANKS: an assumption."""
SPEED = 5e12
"""Operations a second that a GPU comes to in such a network: an assumption."""


CALLS = 6
"""Exchanges of a step that nothing hides: architecture, statistics, three sums, the last of the gradients."""
TREE = 2 * math.log2(RANKS) * DELAY
PASSES = 6
"""Forward passes that a step costs: one and twice as much backward, for architecture and weights."""


class Counting:
    """Counts the bytes that are handed to `all_reduce`, and the seconds that it takes."""

    def __init__(self) -> None:
        self.bytes: Counter[int] = Counter()
        self.calls, self.seconds = 0, 0.0
        self._call = dist.all_reduce

    def __enter__(self) -> "Counting":
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


def parts_of(searcher: Searcher) -> dict[str, int]:
    """Bytes that a step of a search must exchange, from the sizes of its parts."""
    net, relaxation = searcher.net, searcher.relaxation
    return {
        "weights": _bytes(searcher.objective.weights),
        "statistics": _bytes([*local_statistics(net), *relaxation.running_means()]),
        "architecture": _bytes(relaxation.arch_parameters()),
    }


def _bytes(tensors: Sequence[Tensor]) -> int:
    return sum(own.numel() * own.element_size() for own in tensors)


def serve(rank: int, port: int, asked: dict[str, Any], connection: Connection) -> None:
    """What each of the two processes does; rank 0 tells what it has measured."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    with join_group(torch.device("cpu")) as group:
        found = {name: measure(group, *case, **asked) for name, case in CASES.items()}
        if not rank:
            connection.send(found)


def make(space: str, cells: int, method: str, options: dict[str, Any], batch: int, **more: Any) -> Searcher:
    """The search of a case."""
    return make_searcher(get_space(space).resized(cells), method, batch=batch, **options, **more)


def measure(group: Group, *case: Any, rounds: int, batch: int) -> dict[str, float]:
    """Seconds of a step of one process and of two, and what two have exchanged."""
    alone = make(*case, batch)
    shared = {sync: make(*case, batch, group=group, sync_norms=sync) for sync in (False, True)}
    times: dict[str, list[float]] = {"alone": [], "shared": [], "synchronised": []}
    counted = {"shared": Counting(), "synchronised": Counting()}
    for _ in range(rounds + 1):
        times["alone"].append(_turn(group, alone.train_step, group.rank == 0))
        for name, sync in (("shared", False), ("synchronised", True)):
            with counted[name]:
                times[name].append(_turn(group, shared[sync].train_step, True))
    medians = {name: statistics.median(own[1:]) for name, own in times.items()}
    steps = rounds + 1
    return {
        **medians,
        "bytes": sum(size * count for size, count in counted["shared"].bytes.items()) / steps,
        "calls": counted["shared"].calls / steps,
        "exchange": counted["shared"].seconds / steps,
        "sync_bytes": sum(size * count for size, count in counted["synchronised"].bytes.items()) / steps,
        "sync_calls": counted["synchronised"].calls / steps,
        **parts_of(shared[False]),
    }


def _turn(group: Group, step: Callable[[], None], mine: bool) -> float:
    """Seconds of a step, before and after which all ranks wait for each other."""
    group.any(False)
    start = time.perf_counter()
    if mine:
        step()
    spent = time.perf_counter() - start
    group.any(False)
    return spent


def on_imagenet() -> dict[str, dict[str, float]]:
    """What steps of searches on ImageNet would exchange over many GPUs, from the sizes of the networks."""
    found = {}
    for words, partial in IMAGENET.items():
        config = NetConfig(channels=16, classes=1000, input=(3, 224, 224), partial=partial, search=True)
        space = get_space("darts").resized(8)
        net = CellNet(space, config)
        own = {
            "weights": 4.0 * count_parameters(net),
            "statistics": float(_bytes(local_statistics(net))),
            "architecture": 4.0 * (2 * 14 * 8 + (2 * 14 if partial > 1 else 0)),
        }
        own["sent"] = 2 * (RANKS - 1) / RANKS * sum(own.values())
        own["norms"] = len(local_statistics(net)) / 2
        own["compute"] = PASSES * IMAGES * count_flops(space, config) / SPEED
        own |= {link: own["sent"] / speed + CALLS * TREE for link, speed in LINKS.items()}
        found[words] = own
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port = own.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    asked = {"rounds": args.rounds, "batch": args.batch}
    processes = [context.Process(target=serve, args=(rank, port, asked, send)) for rank in range(2)]
    for process in processes:
        process.start()
    found = receive.recv()
    for process in processes:
        process.join()
    paper = on_imagenet()
    if args.json:
        print(json.dumps({"measured": found, "imagenet": paper}))
        return
    show(found, args.batch)
    show_paper(paper)


def show(found: dict[str, dict[str, float]], batch: int) -> None:
    """Prints what was measured."""
    print(f"a step with a batch of {batch}, one thread a process")
    for name, own in found.items():
        worth = own["alone"] / (2 * own["shared"])
        sync = own["alone"] / (2 * own["synchronised"])
        print(f"{name}: one {1e3 * own['alone']:.0f} ms, two {1e3 * own['shared']:.0f} ms: {worth:.0%}")
        print(f"  batch-norms synchronised {1e3 * own['synchronised']:.0f} ms: {sync:.0%}")
        parts = ", ".join(f"{part} {own[part] / 1e6:.4f}" for part in PARTS)
        print(f"  exchanged {own['bytes'] / 1e6:.4f} MB in {own['calls']:.1f} calls: {parts}")
        print(
            f"  batch-norms synchronised: {own['sync_bytes'] / 1e6:.4f} MB in {own['sync_calls']:.0f} calls"
        )


def show_paper(paper: dict[str, dict[str, float]]) -> None:
    """Prints what a search on ImageNet over 64 GPUs would exchange."""
    print(f"ImageNet, {RANKS} GPUs with {IMAGES} images each, 8 cells, 16 channels; MB of a step")
    for name, own in paper.items():
        parts = ", ".join(f"{part} {own[part] / 1e6:.3f}" for part in PARTS)
        times = ", ".join(f"{link} {1e3 * own[link]:.1f}" for link in LINKS)
        print(f"{name}: {parts}; each GPU sends {own['sent'] / 1e6:.1f} MB: {times} ms")
        waits = 1e3 * 4 * own["norms"] * TREE
        print(f"  computation {1e3 * own['compute']:.1f} ms; {own['norms']:.0f} norms: {waits:.0f} ms")


if __name__ == "__main__":
    main()
