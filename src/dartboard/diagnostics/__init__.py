"""Checks of a device: what it computes beside the CPU's results, for every method and every way to compute.

`dartboard check` prints what `check_device` finds.
"""

from dartboard.diagnostics.check import CheckRow, check_device
from dartboard.diagnostics.machine import describe_machine

__all__ = ["CheckRow", "check_device", "describe_machine"]
