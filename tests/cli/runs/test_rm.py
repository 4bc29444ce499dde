import io
from pathlib import Path

import pytest

from dartboard.cli.main import MISTAKE, main
from dartboard.runs import Lock
from helpers.report_runs import make_search

pytestmark = pytest.mark.usefixtures("own_folder")
Said = pytest.CaptureFixture[str]


class Keyboard(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


def test_it_is_removed_after_saying_what_it_is(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "s")
    (tmp_path / "s" / "more").write_bytes(bytes(3_000_000))
    make_search(tmp_path / "s" / "search" / "s0")
    assert main(["runs", "rm", "s", "--yes"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "s: finished search with 1 runs inside, 3.0 MB"
    assert second == "removed s"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "gone"), [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_it_asks(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch, answer: str, gone: bool
) -> None:
    for name in ("s", "t"):
        make_search(tmp_path / name)
    monkeypatch.setattr("sys.stdin", Keyboard(answer))
    assert main(["runs", "rm", "s", "t"]) == 0
    out = capsys.readouterr().out
    assert "remove these 2 runs for good? [y/N] " in out
    assert ("nothing was removed" in out) is not gone
    assert (tmp_path / "s").exists() is (tmp_path / "t").exists() is not gone


def refused(capsys: Said, *words: str) -> str:
    assert main(["runs", "rm", *words]) == MISTAKE
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_without_a_terminal_it_needs_yes(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_search(tmp_path / "s")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert "add --yes" in refused(capsys, "s")
    assert (tmp_path / "s").exists()


def test_a_run_in_use_is_refused_and_nothing_else_is_removed(tmp_path: Path, capsys: Said) -> None:
    for name in ("a", "b", "b/search/s0"):
        make_search(tmp_path / name)
    for used in ("b", "b/search/s0"):
        with Lock(tmp_path / used):
            assert f"{used} is in use" in refused(capsys, "a", "b", "--yes")
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


def test_what_dartboard_did_not_make_is_refused(
    tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    assert "mine is not a run" in refused(capsys, "mine", "--yes")
    (tmp_path / "mine" / "config.yaml").write_text("a: 1\n")
    assert "mine was not made by dartboard: it has no environment.json" in refused(capsys, "mine", "--yes")
    make_search(tmp_path / "s")
    (tmp_path / "link").symlink_to("s")
    assert "link is a link" in refused(capsys, "link", "--yes")
    monkeypatch.chdir(tmp_path / "s")
    assert "is where you are" in refused(capsys, str(tmp_path / "s"), "--yes")
    assert (tmp_path / "s" / "config.yaml").exists()
