"""What each decision costs a supernet, one edge at a time: ASM-NAS against DARTS (asm-nas.txt 5.3.1).

    python docs/figures/stability.py

Searches the space nano on the embedded digits with three seeds, then replaces one mixed edge at a time by
the op that was chosen for it and measures the change of accuracy.
"""

from statistics import mean

import torch

from dartboard.data import load_dataset
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.search.stability import stability
from dartboard.space import get_space

METHODS = {"asm": {"init": "random"}, "darts": {"lr": 3e-4}, "gaea-darts-erm": {"lr": 0.1}}
"""Options by method: the papers' learning rates."""
SEEDS = (0, 1, 2)


def changes(name: str, seed: int) -> tuple[float, list[float]]:
    """The supernet's accuracy, and how it changes with each edge decided."""
    given = {"epochs": 20, "seed": seed, "weights": {"lr": 0.1}, "data": {"valid": 0.5}}
    options = SearchOptions.model_validate(given)
    method = make_method(name, METHODS[name])
    searcher = Searcher(get_space("nano").without("none"), method, load_dataset("digits"), options)
    result = searcher.fit()
    found = stability(searcher.objective, result.genotype, searcher.valid_batches)
    return result.valid_accuracy or 0.0, [own.change for own in found]


def main() -> None:
    """Search, measure and print."""
    torch.set_num_threads(1)
    for name in METHODS:
        found = [changes(name, seed) for seed in SEEDS]
        flat = [change for _, own in found for change in own]
        print(
            f"{name}: accuracy {mean(own for own, _ in found):.1%}, change an edge {mean(flat):+.1%}, ",
            end="",
        )
        print("each", " ".join(f"{change:+.1%}" for change in flat))


if __name__ == "__main__":
    main()
