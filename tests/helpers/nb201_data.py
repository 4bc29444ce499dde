"""A table in the layout of NAS-Bench-201 with every cell and made-up numbers, and the real one."""

import os
from pathlib import Path

import pytest

from dartboard.tables.nb201 import COLUMNS, all_cells

Columns = dict[str, list[object]]


def made_up() -> Columns:
    """All cells in some order; accuracies grow with the line, in steps of which two lines share one."""
    cells = sorted(all_cells(), key=lambda cell: (cell[::-1], cell))
    columns: Columns = {name: [] for name in COLUMNS}
    columns["arch_str"] = list(cells)
    for place, name in enumerate(COLUMNS[1:7]):
        columns[name] = [round(line // 2 / 100 / (place + 1), 4) for line in range(len(cells))]
    columns["params_cifar10"] = [100_000 + line for line in range(len(cells))]
    columns["mflops_cifar10"] = [(64 * 10 + 1024 * line) / 1_000_000 for line in range(len(cells))]
    return columns


def real_table() -> Path:
    """The path of the real table; skips the test without it."""
    path = Path(os.environ.get("DARTBOARD_DATA", "nowhere")) / "nb201.csv.gz"
    if not path.is_file():
        pytest.skip("DARTBOARD_DATA does not name a folder with nb201.csv.gz")
    return path
