"""Tests of the papers use the helpers of dartboard's own tests, by their names."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2] / "tests")]

from cli.conftest import own_folder
from conftest import data, one_thread, run

__all__ = ["data", "one_thread", "own_folder", "run"]
