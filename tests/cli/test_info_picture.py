"""Cells and spaces drawn to files by `dartboard info`."""

import json
from pathlib import Path

import pytest

import frontdoor
from dartboard.cli.info import mixture_of
from dartboard.cli.main import main
from dartboard.space import PUBLISHED, get_space
from reports import found_cell, make_search, make_training

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
SMALL = ("--channels", "4", "--cells", "3")


def drawn(path: Path, *words: str) -> bytes:
    assert main(["info", *words, "--out", str(path)]) == 0
    return path.read_bytes()


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return frontdoor.complaint(capsys, "info", *words)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_cell_can_be_drawn(name: str, tmp_path: Path) -> None:
    assert drawn(tmp_path / "cell.svg", name, *SMALL).startswith(BEGINNINGS["svg"])


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_the_ending_says_in_what_format(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"cell.{ending}"
    first = drawn(path, "darts-v2", *SMALL)
    assert first.startswith(BEGINNINGS[ending])
    assert capsys.readouterr().out.endswith(f"\nwritten to {path}\n")
    assert drawn(path, "darts-v2", *SMALL) == first
    assert drawn(path, "darts-v1", *SMALL) != first


def test_a_space_is_drawn_with_all_its_candidates(tmp_path: Path) -> None:
    whole, cell = drawn(tmp_path / "a.svg", "--space", "nb201"), tmp_path / "b.svg"
    assert drawn(cell, "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|", *SMALL) != whole


def test_json_is_printed_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drawn(tmp_path / "cell.png", "darts-v2", *SMALL, "--json")
    assert json.loads(capsys.readouterr().out)["space"] == "darts"


def test_the_strengths_of_a_search_are_drawn(tmp_path: Path) -> None:
    first, second = (
        make_search(tmp_path / name, "nb201", epochs=2, seed=seed).path
        for seed, name in enumerate(("a", "b"))
    )
    found = drawn(tmp_path / "found.svg", str(first))
    thick = drawn(tmp_path / "thick.svg", str(first), "--strengths")
    assert thick != found
    assert drawn(tmp_path / "thick.svg", str(second), "--strengths") != thick


def test_the_mixture_is_that_of_the_last_epoch_ops_times_edges(tmp_path: Path) -> None:
    run = make_search(tmp_path / "run", "oneshot1", epochs=2)
    strengths = json.loads((run.path / "epochs" / "0001.json").read_text())["strengths"]
    space, weights = mixture_of(str(run.path))
    [(arch, cell)] = space.archs
    assert space.cells == get_space("oneshot1").cells
    for index, edge in enumerate(cell.edges):
        scale, ops = strengths[arch]["edges"][index], strengths[arch]["ops"][index]
        assert weights[arch][index] == pytest.approx([scale * own for own in ops[: len(edge.ops)]])


def test_what_has_no_strengths_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search = make_search(tmp_path / "search", epochs=0, finish=False).path
    other = make_search(tmp_path / "other", epochs=1)
    training = make_training(tmp_path / "train", found_cell(other)).path
    out = ("--strengths", "--out", str(tmp_path / "x.png"))
    assert "needs the directory of a search; darts-v2 is none" in complaint(capsys, "darts-v2", *out)
    assert f"{training} is none" in complaint(capsys, str(training), *out)
    assert "its first epoch is not over" in complaint(capsys, str(search), *out)
    needs = "--strengths needs the directory of a search as CELL, and --out FILE"
    assert complaint(capsys, str(search), "--strengths") == needs
    assert complaint(capsys, "--space", "nano", *out) == needs
    assert not (tmp_path / "x.png").exists()


def test_damaged_strengths_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_search(tmp_path / "run", epochs=1).path
    path = run / "epochs" / "0000.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"strengths": {}}))
    words = complaint(capsys, str(run), "--strengths", "--out", str(tmp_path / "x.png"))
    assert "the strengths of epoch 0 cannot be read: KeyError('cell')" in words


def test_places_that_cannot_be_written_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = complaint(capsys, "darts-v2", "--out", "cell.gif")
    assert words == "--out cell.gif: the ending must be one of .png, .svg, .pdf"
    nowhere = tmp_path / "none" / "cell.png"
    assert f"there is no folder {nowhere.parent}; make it first" in complaint(
        capsys, "darts-v2", "--out", str(nowhere)
    )
