from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The program works in a folder of the test's own, and its number of threads is restored afterwards."""
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
