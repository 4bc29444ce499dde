"""Helpers of the benchmarks: timing, medians of interleaved runs, and memory of a step."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import TypeVar

import torch

from dartboard.data import Dataset, ImageSet
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.config import NetOptions
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import SearchSpace


def seconds(run: Callable[[], object]) -> float:
    """Seconds that `run` takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


Key = TypeVar("Key", str, int)


def median_seconds(runs: Mapping[Key, Callable[[], object]], repeats: int) -> dict[Key, float]:
    """Median seconds of each run, interleaved in random order; the first round is a warmup."""
    times: dict[Key, list[float]] = {name: [] for name in runs}
    rng = Random(0)
    for _ in range(repeats + 1):
        for name in rng.sample(list(runs), len(runs)):
            times[name].append(seconds(runs[name]))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def added_memory(run: Callable[[], object]) -> int:
    """Bytes that `run` adds to the peak memory of this process; call it in a fresh process."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak, which includes imports and setup
    before = status("VmRSS")
    run()
    return status("VmHWM") - before


def status(field: str) -> int:
    """A memory field of /proc/self/status in bytes (getrusage's peak is inherited from the parent)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def in_fork(measure: Callable[[], int]) -> int:
    """The result of `measure` in a forked process; call it before torch has started threads."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=lambda: send.send(measure()))
    process.start()
    send.close()
    result: int = receive.recv()
    process.join()
    return result


def make_searcher(
    space: SearchSpace,
    method: str,
    *,
    channels: int = 16,
    batch: int = 16,
    group: Group = SINGLE,
    sync_norms: bool = False,
    **options: object,
) -> Searcher:
    """A search on random images of 32x32 pixels, with more epochs than any benchmark runs."""
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (4 * batch, 3, 32, 32), dtype=torch.uint8, generator=rng)
    data = Dataset("noise", tuple("0123456789"), ImageSet(pixels, torch.arange(4 * batch) % 10))
    net = NetOptions(channels=channels)
    search_options = SearchOptions(epochs=1000, batch=batch, net=net, sync_norms=sync_norms)
    searcher = Searcher(space, make_method(method, options), data, search_options, group=group)
    searcher.net.train()
    searcher.relaxation.train()
    return searcher
