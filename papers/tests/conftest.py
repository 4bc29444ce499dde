"""Tests of the papers find their helpers beside this file, and those of dartboard's own tests, by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # first, for its conftest

from conftest import data, one_thread, run

__all__ = ["data", "one_thread", "run"]
