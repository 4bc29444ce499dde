from pathlib import Path

import pytest

from dartboard.errors import RunError
from dartboard.runs.sweep_files import PLAN, read_names, write_names


def test_names_come_back(tmp_path: Path) -> None:
    assert read_names(tmp_path) is None
    write_names(tmp_path, ["search/a", "search/b"])
    assert read_names(tmp_path) == ["search/a", "search/b"]


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    write_names(tmp_path, ["a"])
    before = (tmp_path / PLAN).stat().st_ino
    write_names(tmp_path, ["a"])
    assert (tmp_path / PLAN).stat().st_ino == before
    write_names(tmp_path, ["a", "b"])
    assert read_names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("text", ["{}", "[]", "x", '{"runs": 3}', '{"runs": [3]}'])
def test_damage_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / PLAN).write_text(text)
    with pytest.raises(RunError, match=r"plan\.json"):
        read_names(tmp_path)
