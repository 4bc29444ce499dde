"""Where to compute, as the command line says it."""

import torch

from dartboard.jobs.device import find_device


def prepare(device: str | None, threads: int | None) -> torch.device:
    """Sets how many threads torch uses, if that is asked for, and finds the device.

    Raises:
        OptionError: If there is no such device, or it cannot be used.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    return find_device(device, "--device")
