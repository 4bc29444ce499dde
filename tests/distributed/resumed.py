"""Goes on in the middle of searches and trainings, and says whether that led to the same bits.

python resumed.py
"""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from dartboard.distributed.process_group import join_group
from dartboard.runs import digest
from helpers.distributed_cases import CASES, Case, run_case

NAMES = ("darts", "gdas", "xnas, wipeout", "asm", "training")


def is_same(case: Case, *, sync: bool) -> bool:
    """Whether going on from the middle leads where going through leads."""
    whole = run_case(case, group, sync=sync)
    resumed = run_case(case, group, sync=sync, start=whole["half"])["trail"]
    return digest(resumed) == digest(whole["trail"][-len(resumed) :])


if __name__ == "__main__":
    torch.set_num_threads(1)
    with join_group(torch.device("cpu")) as group:
        cases = {name: replace(CASES[name], more=CASES[name].more | {"batch": 12}) for name in NAMES}
        cases = {name: replace(own, steps=min(own.steps, 12)) for name, own in cases.items()}
        found = {name: [is_same(own, sync=sync) for sync in (False, True)] for name, own in cases.items()}
        sys.stdout.write(str(found))
