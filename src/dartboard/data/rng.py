"""Random generators that depend on nothing but a key: equal keys give equal draws in every process."""

import hashlib
import json
import operator
from typing import SupportsIndex

import torch
from torch import Tensor


def generator(*key: SupportsIndex | str) -> torch.Generator:
    """A new CPU generator seeded by `key`, which is made of whole numbers and texts."""
    parts = [part if isinstance(part, str) else operator.index(part) for part in key]
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))


def send(values: Tensor, device: torch.device) -> Tensor:
    """Values on `device`, by a copy that does not block.

    Random values are drawn on the CPU first, so that a run sees the same ones on every device.
    """
    if device.type == "cuda" and values.device.type == "cpu":
        values = values.contiguous().pin_memory()  # copies from pageable memory can wait for the device
    return values.to(device, non_blocking=True)
