"""Where to compute: the only place that names a device."""

import os

import torch

from dartboard.cli.arguments import UsageError


def prepare(device: str | None, threads: int | None) -> torch.device:
    """Sets how many threads torch uses, if that is asked for, and finds the device.

    Raises:
        UsageError: If there is no such device, or it cannot be used.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or deterministic=true fails on GPUs
    if threads is not None:
        torch.set_num_threads(threads)
    name = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(name)
        torch.zeros(1, device=found).tolist()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise UsageError(f"--device {name} cannot be used: {reason}; cpu always can") from None
    return found
