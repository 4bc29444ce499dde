import sys
from pathlib import Path

import pytest


@pytest.fixture
def program() -> Path:
    """The installed program, to be run in a process of its own."""
    return Path(sys.executable).with_name("dartboard")
