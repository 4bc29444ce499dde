"""Running a reproduction."""

import json
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest
import torch

from dartboard.errors import OptionError, RunError, UnknownNameError
from dartboard.runs import Lock
from dartboard_papers import REPRODUCTIONS, ReproductionRecord, ReproductionResult, RunOptions, read_record
from dartboard_papers.runner import CLOCK, check_options, choose_scale, reproduce, timed, work_folder
from reproducing import LAPTOP, NAME, PAPER, Small, registered, result


def done(folder: Path, scale: Small = LAPTOP) -> ReproductionRecord:
    return reproduce(NAME, scale, RunOptions(folder), folder)


def test_scales() -> None:
    with registered() as reproduction:
        assert choose_scale(reproduction) == LAPTOP
        assert choose_scale(reproduction, full=True) == PAPER
        assert choose_scale(reproduction, ["epochs=5"]) == Small(epochs=5)
        assert choose_scale(reproduction, ["epochs=5"], full=True) == Small(epochs=5, words=PAPER.words)
    with registered(full=None) as reproduction:
        assert choose_scale(reproduction, full=True) == LAPTOP


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("epoch=5", UnknownNameError, "no setting called 'epoch'; did you mean 'epochs'?"),
        ("epochs=0", OptionError, "epochs=0: input should be greater than or equal to 1"),
        ("epochs=many", OptionError, "epochs='many': input should be a valid integer"),
        ("epochs", OptionError, "expected a setting such as epochs=2, got 'epochs'"),
    ],
)
def test_scales_that_cannot_be(word: str, kind: type[Exception], message: str) -> None:
    with registered() as reproduction, pytest.raises(kind) as caught:
        choose_scale(reproduction, [word])
    assert str(caught.value).startswith(message)


def test_what_it_does_not_take_is_refused(tmp_path: Path) -> None:
    given = RunOptions(tmp_path, data="digits", table=Path("nb201.csv.gz"))
    with registered() as reproduction:
        check_options(reproduction, LAPTOP, RunOptions(tmp_path))
        with pytest.raises(OptionError, match=f"{NAME} takes no --data; leave it out"):
            check_options(reproduction, LAPTOP, given)
    with registered(takes=("data",)) as reproduction, pytest.raises(OptionError, match="takes no --table"):
        check_options(reproduction, LAPTOP, given)
    with registered(takes=("data", "table")) as reproduction:
        check_options(reproduction, LAPTOP, given)


def test_words_where_there_is_nothing_to_set() -> None:
    reproduction = REPRODUCTIONS["understanding-figure-1"]
    with pytest.raises(OptionError, match="understanding-figure-1 has no numbers to set, got 'more'"):
        choose_scale(reproduction, ["more"])


def test_the_papers_own_experiment_is_known_by_its_numbers(tmp_path: Path) -> None:
    seen: list[bool] = []

    def look(options: RunOptions, scale: Small) -> ReproductionResult:
        seen.append(options.full)
        return result(scale)

    with registered(look):
        for scale, full in ((LAPTOP, False), (PAPER, False), (Small(epochs=9), True)):
            reproduce(NAME, scale, RunOptions(tmp_path, full=full), tmp_path)
    assert seen == [False, True, True]


def test_from_a_name_to_files(tmp_path: Path) -> None:
    with registered():
        record = done(tmp_path / "out")
        assert read_record(tmp_path / "out") == record
    assert record.sentence == "it said plain"
    [work] = (tmp_path / "out" / "work").iterdir()
    assert (work / "count").read_text() == "1"


def test_the_same_goes_on_in_its_folder_and_others_have_their_own(tmp_path: Path) -> None:
    with registered():
        for scale in (LAPTOP, LAPTOP, Small(epochs=5)):
            done(tmp_path, scale)
    counts = sorted(path.read_text() for path in (tmp_path / "work").glob("*/count"))
    assert counts == ["1", "2"]


def test_what_tells_work_folders_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("images.npz").touch()
    usual = RunOptions(tmp_path, "images.npz")
    first = work_folder(tmp_path, LAPTOP, usual)
    assert first.parent == tmp_path / "work"
    same = [replace(usual, jobs=2), replace(usual, data=str(tmp_path / "images.npz"))]
    assert {work_folder(tmp_path, LAPTOP, own) for own in same} == {first}
    others = [
        replace(usual, data="digits"),
        replace(usual, table=Path("images.npz")),
        replace(usual, device=torch.device("meta")),
    ]
    found = {work_folder(tmp_path, LAPTOP, own) for own in others}
    assert len({first, work_folder(tmp_path, PAPER, usual), *found}) == 5


def test_times_add_up_over_errors(tmp_path: Path) -> None:
    def slow_or_broken(options: RunOptions, scale: Small) -> ReproductionResult:
        seconds = options.folder / "seconds.json"
        if not seconds.exists():
            raise OptionError("not yet")
        return result(scale)

    with registered(slow_or_broken):
        with pytest.raises(OptionError, match="not yet"):
            done(tmp_path)
        [seconds] = (tmp_path / "work").glob("*/seconds.json")
        seconds.write_text("3600.0")
        assert done(tmp_path).seconds == pytest.approx(3600, abs=2)
        assert not (tmp_path / "nothing").exists()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with registered():
        work = work_folder(tmp_path, LAPTOP, RunOptions(tmp_path))
        work.mkdir(parents=True)
        with Lock(work), pytest.raises(RunError, match="is in use by"):
            done(tmp_path)
        assert done(tmp_path).name == NAME


def test_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no reproduction called"):
        done(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_times_add_up(tmp_path: Path) -> None:
    for _ in range(2):
        with timed(tmp_path / "new") as clock:
            sleep(0.02)
    assert 0.04 <= clock.seconds < 2
    assert json.loads((tmp_path / "new" / CLOCK).read_text()) == clock.seconds


def test_a_time_that_ends_in_an_error_counts(tmp_path: Path) -> None:
    (tmp_path / CLOCK).write_text("100.0")
    with pytest.raises(KeyboardInterrupt), timed(tmp_path) as clock:
        raise KeyboardInterrupt
    assert 100 < clock.seconds < 102
    assert json.loads((tmp_path / CLOCK).read_text()) == clock.seconds


@pytest.mark.parametrize("text", ["", "NaN", "-3.0", "Infinity", '"long"', "{}", "\xff"])
def test_a_damaged_file_is_no_time(text: str, tmp_path: Path) -> None:
    (tmp_path / CLOCK).write_text(text, encoding="latin-1")
    with timed(tmp_path) as clock:
        assert clock.seconds == 0
    assert 0 <= clock.seconds < 2
