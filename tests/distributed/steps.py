"""Takes steps of searches and trainings in float64, alone or together; rank 0 writes where they led.

python steps.py OUT.pt SYNC CASE...
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from dartboard.distributed.process_group import join_group
from helpers.distributed_cases import CASES, MICRO_BATCH_CASES, run_case

if __name__ == "__main__":
    out, sync, *names = sys.argv[1:]
    torch.set_num_threads(1)
    with join_group(torch.device("cpu")) as group:
        cases = {name: (CASES | MICRO_BATCH_CASES)[name] for name in names}
        found = {name: run_case(own, group, sync=sync == "sync") for name, own in cases.items()}
        if not group.rank:
            torch.save(found, out)
    sys.stdout.write(str({name: own["digest"] for name, own in found.items()}))
