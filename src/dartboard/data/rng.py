"""Chance that depends on nothing but a key: the same key gives the same draws in every process."""

import hashlib
import json
import operator
from typing import SupportsIndex

import torch
from torch import Tensor


def generator(*key: SupportsIndex | str) -> torch.Generator:
    """A new generator on the CPU whose draws are settled by `key`, whole numbers and texts."""
    plain = [part if isinstance(part, str) else operator.index(part) for part in key]
    digest = hashlib.sha256(json.dumps(plain).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))


def send(values: Tensor, device: torch.device) -> Tensor:
    """Values, mostly drawn on the CPU, on `device`; nobody waits for the copy.

    Drawing on the CPU first makes a run see the same chance on every device.
    """
    if device.type == "cuda" and values.device.type == "cpu":
        values = values.contiguous().pin_memory()  # from other memory the copy can wait for the device
    return values.to(device, non_blocking=True)
