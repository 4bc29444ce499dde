"""Memory: whether an error means that it ran out, and how much has been used."""

import resource
import sys

import torch

WORDS = ("can't allocate memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED")
"""What torch says without an error class of its own: on CPUs, and in two libraries on GPUs."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of the device or of the host ran out."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS)


def peak_memory(device: torch.device) -> int:
    """The most bytes that tensors on the device, or this process on a CPU, have taken so far."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
