"""What a loop changes in its process while it runs, and restores afterwards: random state, kernels, logs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from dartboard.engine.state import rng_states, set_rng_states
from dartboard.runs import Run


class RngScope:
    """The random state of a loop, apart from that of the rest of the process.

    Args:
        device: Where the loop computes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._states: dict[str, Tensor] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Inside, torch's generators have the state of the loop; outside, that of the rest of the process."""
        with torch.random.fork_rng([self._device] if self._device.type == "cuda" else []):
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
