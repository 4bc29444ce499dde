"""Differences between one process and two with half of every batch each, for every method.

The cases are those of the tests (tests/helpers/distributed_cases.py): short searches and trainings on the
digits in float64, with synchronized batch-norms, crops, flips, cutout and drop-path. The difference is the
maximum over all weights, statistics, architecture parameters and strengths after any step; next to it is
that of the mean loss, which is kept in float32.

usage: python benchmarks/equivalence.py [CASE ...]
"""

import sys
import tempfile
from pathlib import Path

import torch

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from helpers.distributed_cases import CASES, largest_difference, run_case  # noqa: E402
from helpers.ranks import run_ranks  # noqa: E402


def main() -> None:
    """Run the cases and print a table."""
    torch.set_num_threads(1)
    names = sys.argv[1:] or list(CASES)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "two.pt"
        one, other = run_ranks(2, TESTS / "distributed" / "steps.py", out, "sync", *names)
        assert one == other, "the two processes hold different states"
        two = torch.load(out)
    print("| search or training | steps | largest difference | of the mean loss | same cell |")
    print("|---|---|---|---|---|")
    for name in names:
        alone, both = run_case(CASES[name]), two[name]
        loss = abs(alone["meter"]["train_loss"] - both["meter"]["train_loss"])
        same = "" if alone["genotype"] is None else str(alone["genotype"] == both["genotype"]).lower()
        print(
            f"| {name} | {CASES[name].steps} | {largest_difference(alone, both):.0e} | {loss:.0e} | {same} |"
        )


if __name__ == "__main__":
    main()
