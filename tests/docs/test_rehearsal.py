"""Rehearsals notice what is wrong with a page."""

from pathlib import Path

import pytest

from dartboard.errors import DartboardError
from helpers.doc_pages import Block
from helpers.page_commands import check, read_yaml, run_command
from helpers.page_runner import PageSession


@pytest.mark.parametrize(
    "line",
    [
        "search --recipe dart",
        "search --recipe darts weights.lrr=1",
        "search --recipe darts --methods gdas",
        "search --recipe darts --method dart",
        "search --recipe darts --space dart",
        "train darts-v3 --recipe darts-cifar --data cifar10",
        "train darts-v2 --recipe darts-cifar --data cifar10 net.cell=8",
        "bench --config results/nano/bench.yaml --methods darts,none",
        "bench --config results/nano/bench.yaml drawz=3",
        "reproduce xnas-figure-33",
        "reproduce xnas-figure-3 epoch=2",
        "data got cifar10",
    ],
)
def test_commands_that_are_looked_at_may_name_nothing_that_is_not_there(line: str) -> None:
    with pytest.raises(DartboardError):
        check(line.split())


@pytest.mark.parametrize(
    "line",
    ["make nothing", "pip install 'dartboard[nothing]'", "python scripts/make_nano.py --nothing", "nothing"],
)
def test_other_programs_are_looked_at_too(line: str) -> None:
    with pytest.raises(AssertionError):
        run_command(PageSession().words(line))


def test_a_command_that_fails_is_noticed() -> None:
    with pytest.raises(AssertionError, match="exit code 2"):
        run_command(["dartboard", "info", "darts-v3"])


def test_outputs_are_compared() -> None:
    stage = PageSession()
    right = "$ dartboard info darts-v3\ndartboard: error: no published cell called 'darts-v3'; ...\n"
    stage.console(Block("page.md", 1, "console", right))
    with pytest.raises(AssertionError, match="the page has"):
        stage.console(Block("page.md", 1, "console", right.replace("v3'", "v4'")))


def test_blocks_of_python_share_their_names_and_say_where_they_fail() -> None:
    stage = PageSession()
    stage.python(Block("page.md", 5, "python", "found = 1\n"))
    with pytest.raises(AssertionError) as failed:
        stage.python(Block("page.md", 30, "python", "\nassert found == 2\n"))
    assert failed.traceback[-1].lineno + 1 == 31
    assert str(failed.traceback[-1].path).endswith("page.md")


def test_variables_and_comments_are_those_of_a_shell() -> None:
    stage = PageSession()
    stage.command('common="--space nano a=[none]"  # for both')
    assert stage.words("dartboard search $common '$x'  # here") == [
        "dartboard", "search", "--space", "nano", "a=[none]", "$x",
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="one command a line"):
        stage.words("dartboard list | head")


def test_files_are_read_by_what_they_are(tmp_path: Path) -> None:
    for text in ("kind: bench\nmethod: 1\n", "kind: sweep\nseeds: 1\n", "name: x\nstack: {}\n", "epoch: 3\n"):
        (tmp_path / "own.yaml").write_text(text)
        with pytest.raises(DartboardError):
            read_yaml(tmp_path / "own.yaml")
