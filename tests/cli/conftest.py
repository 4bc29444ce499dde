import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture
def program() -> Path:
    """The installed program, to be run in a process of its own."""
    return Path(sys.executable).with_name("dartboard")


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The program works in a folder of the test's own, and sets the number of threads for that long alone."""
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
