"""What the page on oracles shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

from dartboard.tables.nb201 import COLUMNS, write_columns
from helpers.nb201_data import made_up

PAGE = Path(__file__).parents[2] / "docs" / "oracles.md"


def test_the_example_runs(tmp_path: Path) -> None:
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    columns = made_up()
    write_columns(tmp_path / "nb201.csv.gz", columns)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    test, rank, *_ = done.stdout.split()
    (cell,) = re.findall(r'decode\("(.*?)"\)', code)
    accuracies = columns["cifar100_test"]
    own = accuracies[columns["arch_str"].index(cell)]
    assert float(test) == float(str(own)) / 100
    assert int(rank) == 1 + sum(float(str(other)) > float(str(own)) for other in accuracies)


def test_every_column_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in COLUMNS)
