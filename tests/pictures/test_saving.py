"""Figures as files."""

from pathlib import Path

from matplotlib.figure import Figure

from dartboard.pictures.saving import save_figure


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
