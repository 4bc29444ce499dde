"""The device that a job computes on."""

import os

import torch

from dartboard.errors import OptionError


def find_device(name: str | None, what: str = "the device") -> torch.device:
    """The device of a name, which errors call `what`; without one a GPU if there is one, else the CPU.

    Raises:
        OptionError: If there is no such device, or it cannot be used.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or deterministic=true fails on GPUs
    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise OptionError(f"{what} {name} cannot be used: {reason}; cpu always can") from None
    return device
