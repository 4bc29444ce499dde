"""The state of torch's own generators: of the CPU, and of one device beside it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor


def rng_states(device: torch.device) -> dict[str, Tensor]:
    """The states of the generators that computing on a device draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_rng_states(device: torch.device, states: Mapping[str, Tensor]) -> None:
    """Puts the generators into states from `rng_states`; those of another kind of device are left out."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
    elif device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"])


@contextmanager
def preserve_rng(device: torch.device) -> Iterator[None]:
    """Inside, draws are as usual; afterwards the generators are as they were before."""
    states = rng_states(device)
    try:
        yield
    finally:
        set_rng_states(device, states)
