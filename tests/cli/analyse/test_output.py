"""What the tools write, read back."""

import json
import math
from pathlib import Path

from matplotlib.figure import Figure

from dartboard.cli.analyse.output import as_json, write_all


def no_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def test_what_is_not_finite_is_null() -> None:
    numbers = {"a": [1.5, math.nan, (math.inf, "x")], "b": {"c": -math.inf, "d": None}, "e": 3}
    found = json.loads(as_json(numbers), parse_constant=no_constant)
    assert found == {"a": [1.5, None, [None, "x"]], "b": {"c": None, "d": None}, "e": 3}


def test_pictures_and_numbers_are_written_to_a_folder_that_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "new/out"
    write_all(folder, {"picture": Figure((1, 1))}, "numbers.json", {"loss": math.inf})
    assert {path.name for path in folder.iterdir()} == {"picture.svg", "picture.png", "numbers.json"}
    assert json.loads((folder / "numbers.json").read_text()) == {"loss": None}
