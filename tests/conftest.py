"""What all tests may use; they find the modules beside this file by their names."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As processes that have one: how sums are split among threads can change their last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
