"""Tests of the papers use the helpers of dartboard's own tests, by their names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from conftest import data, one_thread, run

__all__ = ["data", "one_thread", "run"]
