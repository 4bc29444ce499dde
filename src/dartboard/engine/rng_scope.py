"""What a search changes in its process while it runs, and puts back afterwards."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from dartboard.engine.state import rng_states, set_rng_states
from dartboard.runs import Run


class RngScope:
    """Torch's generators as a search has left them, apart from everybody else's use of them.

    Args:
        device: Where the search computes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._states: dict[str, Tensor] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Inside, torch draws for the search; outside, its generators are as everybody else left them."""
        with torch.random.fork_rng([self._device] if self._device.type == "cuda" else []):
            if self._states:
                set_rng_states(self._device, self._states)
            try:
                yield
            finally:
                self._states = rng_states(self._device)


@contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Inside, torch uses deterministic kernels alone if that is wanted."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(wanted or before)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


@contextmanager
def mute_warnings() -> Iterator[None]:
    """Inside, what loops warn of is written to their logs alone."""
    handler, logger = logging.NullHandler(), logging.getLogger("dartboard")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def logged(run: Run | None) -> Iterator[None]:
    """Inside, what dartboard logs is also written to the run, if there is one."""
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
