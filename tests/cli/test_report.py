from pathlib import Path

import pytest

from dartboard.cli.main import MISTAKE, main
from dartboard.report import REPORT
from dartboard.report import write as writing
from helpers.report_runs import make_search

pytestmark = pytest.mark.usefixtures("own_folder")
TINY = [
    "--epochs",
    "1",
    "net.channels=2",
    "data.workers=0",
    "health.examples=16",
    "--threads",
    "1",
    "--quiet",
]


def test_one_run_has_its_page_in_its_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_search(tmp_path / "s")
    assert main(["report", "s"]) == 0
    assert capsys.readouterr().out == f"written to s/{REPORT}\n"
    assert "nano with gaea-darts on digits" in (tmp_path / "s" / REPORT).read_text()


def test_several_runs_have_one_where_the_program_runs(tmp_path: Path) -> None:
    for seed in range(2):
        make_search(tmp_path / f"s{seed}", seed=seed)
    assert main(["report", "s0", "s1"]) == 0
    assert "2 searches" in (tmp_path / REPORT).read_text()
    assert main(["report", "s0", "s1", "--out", "other.html"]) == 0
    assert (tmp_path / "other.html").is_file()


def test_live_ends_when_no_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_search(tmp_path / "s", finish=False)
    assert main(["report", "s", "--live"]) == 0
    assert capsys.readouterr().out.endswith(f"written to s/{REPORT}\n")


def test_ctrl_c_ends_live_with_a_page_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_search(tmp_path / "s", finish=False)

    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dartboard.report.watch", cut)
    assert main(["report", "s", "--live"]) == 130
    assert "looks for news" not in (tmp_path / "s" / REPORT).read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere is not a run"),
        (["s", "--out", "."], "is a folder; name a file"),
        (["s", "--out", "a/b.html"], "there is no folder a; make it first"),
        (["s", "--table", "t.npz"], "t.npz can be the table of one benchmark"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    make_search(tmp_path / "s")
    assert main(["report", *words]) == MISTAKE
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_search_writes_its_report_unless_told_not_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--out", "a", *TINY]) == 0
    assert "final choice" in (tmp_path / "a" / REPORT).read_text()
    assert f"report         a/{REPORT}" in capsys.readouterr().out
    assert main(["search", "--out", "b", "--no-report", *TINY]) == 0
    assert not (tmp_path / "b" / REPORT).exists()
    assert "report" not in capsys.readouterr().out


def test_a_live_search_writes_after_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bool] = []
    whole = writing.write_report

    def spy(runs: list[Path], out: Path, *, live: bool = False) -> Path:
        written.append(live)
        return whole(runs, out, live=live)

    monkeypatch.setattr(writing, "write_report", spy)
    assert main(["search", "--out", "a", "--live", *TINY, "--epochs", "2"]) == 0
    assert written == [True, True, False]
    assert main(["search", "--out", "b", "--live", "--no-report", *TINY]) == MISTAKE


def test_a_search_whose_report_fails_is_a_search_still(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "render", lambda *_, **__: 1 / 0)
    assert main(["search", "--out", "a", *TINY]) == 0
    assert capsys.readouterr().err == "dartboard: warning: no report was written: division by zero\n"
    assert (tmp_path / "a" / "result.json").is_file()
