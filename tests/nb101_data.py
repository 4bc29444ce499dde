"""Tables of NAS-Bench-101 to test with: a small one made here, and the whole one where it is at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

C3, C1, MP = "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"

CELLS = (
    ([[0, 1], [0, 0]], ["input", "output"]),
    ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], ["input", MP, "output"]),
    ([[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], ["input", C1, C3, "output"]),
    ([[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]], ["input", C3, MP, "output"]),
)
"""The cells of the small table."""
SMALL = {
    "vertices": np.array([2, 3, 4, 4]),
    "adj_bits": np.array([0b1, 0b101, 0b111011, 0b110111]),
    "ops_code": np.array([1, 3 + 2, 9 + 3 * 1 + 0, 9 + 3 * 0 + 2]),
    "params": np.array([1, 2, 3, 4]),
    "test_acc_108": np.array([0.5, 0.25, 0.75, 0.875]),
}
"""The columns of the small table."""


def folder() -> Path:
    """The folder with facts gathered from public sources; the test is skipped where there is none."""
    place = Path(os.environ.get("DARTBOARD_DATA", "nowhere"))
    if not (place / "nb101.npz").exists():
        pytest.skip("DARTBOARD_DATA does not name a folder with nb101.npz")
    return place
