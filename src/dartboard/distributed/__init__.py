"""Several processes that share one search or training: process groups and launching.

`dartboard.distributed.process_group` has the group of several processes; only it needs torch.distributed.
"""

from dartboard.distributed.group import SINGLE, Group
from dartboard.distributed.launch import end_with_launcher, launch, world_size

__all__ = ["SINGLE", "Group", "end_with_launcher", "launch", "world_size"]
