"""Time and memory of a step of each method, relative to first-order DARTS on the same space.

A step includes the batches, the gradient and update of the architecture, if any, and those of the weights.
Steps of all methods alternate in one process; times are medians. Memory is what two steps add to the peak
of a fresh process. The images are random, 32x32. No candidates are removed and temperatures stay those of
the first epoch, so XNAS is timed with all its candidates (see `wipeout.py`).

Below each table is the comparison made by ASM-NAS: a step of second-order DARTS against its own (paper:
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
"""Number of cells by space, in total or per stage."""
ROUNDS = {"darts": 5, "nb201": 15}
"""Number of timed steps; short steps need more."""
BASE = "darts"
PAPER = 11.37 / 1.43


@dataclass(frozen=True)
class Variant:
    """A method with options.

    Args:
        method: Name of the method.
        options: Options of the method.
        note: Remark in the table.
    """

    method: str
    options: dict[str, object] = field(default_factory=dict)
    note: str = ""


VARIANTS = {
    BASE: Variant("darts", note="first order, bilevel"),
    "darts single": Variant("darts", {"bilevel": False}, "single level, two passes"),
    "darts joint": Variant("darts", {"bilevel": False, "joint": True}, "both gradients from one pass"),
    "darts-2nd": Variant("darts-2nd", note="exact"),
    "darts-2nd finite": Variant("darts-2nd", {"product": "finite"}, "finite differences"),
    "amended-darts": Variant("amended-darts", note="exact"),
    "amended finite": Variant("amended-darts", {"product": "finite"}, "finite differences"),
    "gdas": Variant("gdas", note="one op per edge"),
    "pc-darts": Variant("pc-darts", {"warmup": 0}, "a quarter of the channels"),
    "gaea-darts": Variant("gaea-darts"),
    "gaea-darts-erm": Variant("gaea-darts-erm", note="single level, two passes"),
    "gaea-erm joint": Variant("gaea-darts-erm", {"joint": True}, "both gradients from one pass"),
    "gaea-pc-darts": Variant("gaea-pc-darts", {"warmup": 0}, "a quarter of the channels"),
    "gaea-gdas": Variant("gaea-gdas", note="one op per edge"),
    "xnas": Variant("xnas", note="per-example rewards, all candidates"),
    "asm": Variant("asm", note="attention, no architecture step"),
    "random-ws": Variant("random-ws", note="one op per edge, no architecture step"),
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
    """Memory of every variant on every space; call it before torch has started threads."""
    spaces = {name: make_space(name) for name in names}
    return {
        name: {
            label: in_fork(lambda variant=variant, space=space: peak_memory(space, variant, batch))
            for label, variant in VARIANTS.items()
        }
        for name, space in spaces.items()
    }


def measure(name: str, memory: dict[str, int], batch: int) -> list[dict[str, object]]:
    """A row for every variant."""
    searchers = {label: make(make_space(name), variant, batch) for label, variant in VARIANTS.items()}
    times = median_seconds(
        {label: searcher.train_step for label, searcher in searchers.items()}, ROUNDS[name]
    )
    return [
        {
            "space": name,
            "method": label,
            "seconds": times[label],
            "ratio": times[label] / times[BASE],
            "memory_bytes": memory[label],
            "memory_ratio": memory[label] / memory[BASE],
            "note": variant.note,
        }
        for label, variant in VARIANTS.items()
    ]


def show(name: str, rows: list[dict[str, object]]) -> None:
    """Print a table, and the comparison of ASM-NAS."""
    print(f"{name}, cells={CELLS[name]}\nmethod            step s   step  memory MB  memory")
    for row in rows:
        size = row["memory_bytes"] / 1e6
        print(
            f"{row['method']:16}  {row['seconds']:6.3f}  {row['ratio']:5.2f}  {size:9.0f}  "
            f"{row['memory_ratio']:6.2f}  {row['note']}"
        )
    times = {row["method"]: row["seconds"] for row in rows}
    exact, finite = (times[second] / times["asm"] for second in ("darts-2nd", "darts-2nd finite"))
    ratios = f"{exact:.2f} exact, {finite:.2f} finite (paper: {PAPER:.2f})"
    print(f"second-order DARTS' step against ASM's: {ratios}\n", flush=True)


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--space", action="append", choices=CELLS, help="what to measure; default: all")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument(
        "--threads", type=int, default=1, help="with more than one, other load affects the times"
    )
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
