"""Memory: whether an error means that it ran out, and how much has been used."""

import resource
import sys

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of the device or of the host ran out."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(
        error
    )  # torch's allocator on CPUs


def peak_memory(device: torch.device) -> int:
    """The most bytes that tensors on the device, or this process on a CPU, have taken so far."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
