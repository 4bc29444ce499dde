"""The process that a loop runs in: its device, random state, kernels, logs and memory."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from dartboard.errors import OptionError
from dartboard.runs import Run
from dartboard.utils.torch_rng import preserve_rng, rng_states, set_rng_states

WORDS = ("can't allocate memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED")
"""What torch says without an error class of its own: on CPUs, and in two libraries on GPUs."""


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


class RngScope:
    """The random state of a loop that computes on a device, apart from that of the rest of the process."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._states: dict[str, Tensor] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Inside, torch's generators have the state of the loop; outside, that of the rest of the process."""
        with preserve_rng(self._device):
            if self._states:
                set_rng_states(self._device, self._states)
            try:
                yield
            finally:
                self._states = rng_states(self._device)


@contextmanager
def deterministic(enabled: bool) -> Iterator[None]:
    """Inside, torch uses deterministic kernels alone, if enabled."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(enabled or before)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def mute_warnings() -> Iterator[None]:
    """Inside, warnings of loops are written to their logs alone."""
    handler, logger = logging.NullHandler(), logging.getLogger("dartboard")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def logged(run: Run | None) -> Iterator[None]:
    """Inside, log messages of dartboard are also written to the run, if there is one."""
    if run is None:
        yield
        return
    handler, logger = run.log_handler(), logging.getLogger("dartboard")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of the device or of the host ran out."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS)


def peak_memory(device: torch.device) -> int:
    """The most bytes that tensors on the device, or this process on a CPU, have taken; 0 if unknown."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows does not have it
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
