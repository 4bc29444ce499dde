"""Figures as files."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from dartboard.viz.figures import METADATA, save_as, save_figure


def drawn(height: float) -> Figure:
    figure = Figure()
    figure.add_subplot().plot([0, height])
    return figure


def test_a_figure_is_written_twice_with_the_same_bytes(tmp_path: Path) -> None:
    first = save_figure(drawn(1), tmp_path / "a.b")
    assert [path.name for path in first] == ["a.b.svg", "a.b.png"]
    before = [path.read_bytes() for path in first]
    assert [path.read_bytes() for path in save_figure(drawn(1), tmp_path / "a.b")] == before
    assert [path.read_bytes() for path in save_figure(drawn(2), tmp_path / "a.b")] != before


@pytest.mark.parametrize("ending", METADATA)
def test_one_file_is_written_in_the_format_of_its_ending(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.b.{ending}"
    assert save_as(drawn(1), path) == path
    before = path.read_bytes()
    assert [own.name for own in tmp_path.iterdir()] == [path.name]
    assert save_as(drawn(1), path).read_bytes() == before
    assert save_as(drawn(2), path).read_bytes() != before
