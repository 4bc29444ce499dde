"""What a step of each method costs, in time and memory, against first-order DARTS on the same space.

A step is the whole of it: the batches, the architecture's gradient and update where there are any, and the
weights'. Steps of all methods alternate in one process; times are medians. Memory is what two steps add to
the peak of a process of their own. The images are random, 32x32; nothing is dropped or cooled meanwhile, so
XNAS is timed with all its candidates (see `wipeout.py`) and samples are those of the first epoch.

Below each table stands the comparison that ASM-NAS makes: second-order DARTS' step against its own (paper:
11.37 s, of which 9.96 s for the architecture, against 1.43 s, that is 7.95 times).

usage: python benchmarks/search_step.py [--space NAME ...] [--threads N] [--json]
"""

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch

from _common import added_memory, in_fork, make_searcher, median_seconds
from dartboard.search import Searcher
from dartboard.space import SearchSpace, get_space

CELLS = {"darts": 4, "nb201": 1}
"""Spaces, with cells in all or in a stage."""
ROUNDS = {"darts": 5, "nb201": 15}
"""How often each step is timed; short ones need more."""
BASE = "darts"
PAPER = 11.37 / 1.43


@dataclass(frozen=True)
class Variant:
    """A method as it is measured.

    Args:
        method: Its name.
        options: Its options.
        note: What a reader should know.
    """

    method: str
    options: dict[str, object] = field(default_factory=dict)
    note: str = ""


VARIANTS = {
    BASE: Variant("darts", note="first order, bilevel"),
    "darts single": Variant("darts", {"bilevel": False}, "one set of images, two passes"),
    "darts joint": Variant("darts", {"bilevel": False, "joint": True}, "both gradients from one pass"),
    "darts-2nd": Variant("darts-2nd", note="exact"),
    "darts-2nd finite": Variant("darts-2nd", {"product": "finite"}, "finite differences"),
    "amended-darts": Variant("amended-darts", note="exact"),
    "amended finite": Variant("amended-darts", {"product": "finite"}, "finite differences"),
    "gdas": Variant("gdas", note="one op an edge"),
    "pc-darts": Variant("pc-darts", {"warmup": 0}, "a quarter of the channels"),
    "gaea-darts": Variant("gaea-darts"),
    "gaea-darts-erm": Variant("gaea-darts-erm", note="single level, two passes"),
    "gaea-erm joint": Variant("gaea-darts-erm", {"joint": True}, "both gradients from one pass"),
    "gaea-pc-darts": Variant("gaea-pc-darts", {"warmup": 0}, "a quarter of the channels"),
    "gaea-gdas": Variant("gaea-gdas", note="one op an edge"),
    "xnas": Variant("xnas", note="a reward for each example, all candidates alive"),
    "asm": Variant("asm", note="attention, no architecture step"),
    "random-ws": Variant("random-ws", note="one op an edge, no architecture step"),
}


def make_space(name: str) -> SearchSpace:
    """A space with few cells."""
    return get_space(name).resized(CELLS[name])


def make(space: SearchSpace, variant: Variant, batch: int) -> Searcher:
    """The search of a variant."""
    return make_searcher(space, variant.method, batch=batch, **variant.options)


def peak_memory(space: SearchSpace, variant: Variant, batch: int) -> int:
    """Bytes that two steps add to the memory of this process."""
    searcher = make(space, variant, batch)

    def steps() -> None:
        searcher.train_step()
        searcher.train_step()

    return added_memory(steps)


def measure_memory(names: Iterable[str], batch: int) -> dict[str, dict[str, int]]:
    """The memory of every variant on every space; to be called before this process has computed anything."""
    spaces = {name: make_space(name) for name in names}
    return {
        name: {
            label: in_fork(lambda own=own, space=space: peak_memory(space, own, batch))
            for label, own in VARIANTS.items()
        }
        for name, space in spaces.items()
    }


def measure(name: str, memory: dict[str, int], batch: int) -> list[dict[str, object]]:
    """A row for every variant."""
    searchers = {label: make(make_space(name), own, batch) for label, own in VARIANTS.items()}
    times = median_seconds({label: own.train_step for label, own in searchers.items()}, ROUNDS[name])
    return [
        {
            "space": name,
            "method": label,
            "seconds": times[label],
            "ratio": times[label] / times[BASE],
            "memory_bytes": memory[label],
            "memory_ratio": memory[label] / memory[BASE],
            "note": own.note,
        }
        for label, own in VARIANTS.items()
    ]


def show(name: str, rows: list[dict[str, object]]) -> None:
    """Prints a table, and what ASM-NAS compares."""
    print(f"{name}, cells={CELLS[name]}\nmethod            step s   step  memory MB  memory")
    for row in rows:
        size = row["memory_bytes"] / 1e6
        print(
            f"{row['method']:16}  {row['seconds']:6.3f}  {row['ratio']:5.2f}  {size:9.0f}  "
            f"{row['memory_ratio']:6.2f}  {row['note']}"
        )
    times = {row["method"]: row["seconds"] for row in rows}
    exact, finite = (times[second] / times["asm"] for second in ("darts-2nd", "darts-2nd finite"))
    said = f"{exact:.2f} exact, {finite:.2f} finite (paper: {PAPER:.2f})"
    print(f"second-order DARTS' step against ASM's: {said}\n", flush=True)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--space", action="append", choices=CELLS, help="what to measure; default: all")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1, help="more than one measures the neighbours too")
    parser.add_argument("--json", action="store_true", help="each table is followed by its rows in JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = options.space or list(CELLS)
    memory = measure_memory(names, options.batch)
    for name in names:
        rows = measure(name, memory[name], options.batch)
        show(name, rows)
        if options.json:
            print("\n".join(map(json.dumps, rows)), flush=True)


if __name__ == "__main__":
    main()
