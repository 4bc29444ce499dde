"""Every command with --json on tiny input: one object, whose keys are those of docs/reference/json.md."""

import io
import json
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from dartboard import tables
from dartboard.cli.commands import CommandParser, make_parser
from dartboard.cli.main import main
from helpers.bench_runs import PLUGIN
from helpers.bench_runs import TINY as BENCH
from helpers.json_page import check_keys, documented
from helpers.protocol_cases import TINY as PROTOCOL
from helpers.protocol_cases import few_digits
from helpers.sweep_cases import tiny

SEARCH = ("epochs=2", "batch=16", "net.channels=4", "health.examples=16", "--threads", "1", "--no-report")
TRAIN = ("epochs=2", "batch=16", "net.channels=4", "net.cells=2", "net.auxiliary=0", "checkpoint.keep=2")
WITHOUT = {"completion"}
"""Commands that print no result."""
PAPERS = ("reproduce", "analyse theory")
"""Commands whose tests are in papers/tests."""
SAME = {"demo": "search"}
"""Commands whose objects are those of another one."""


def printed(*words: str, code: int = 0) -> dict[str, Any]:
    """The one object that a command prints."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert main([*words, "--json"]) == code
    assert out.getvalue().count("\n") == 1
    facts: dict[str, Any] = json.loads(out.getvalue(), parse_constant=pytest.fail)
    return facts


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """A search and a training in the folder where the tests work, and what they have printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("json"))
        data = few_digits(Path("few.npz"))
        search = printed("search", *SEARCH, "--data", data, "--out", "runs/search")
        flags = ("--data", data, "--threads", "1", "--no-report", "--out", "runs/train")
        yield {"search": search, "train": printed("train", "runs/search", *TRAIN, *flags)}


def import_nothing(_: Path, out: Path, __: object) -> int:
    """In the place of a benchmark's import, which reads gigabytes."""
    out.write_text("a table")
    return 3


CASES: dict[str, tuple[str, ...]] = {
    "runs list": ("runs",),
    "runs show": ("runs", "show", "runs/search"),
    "runs compare": ("runs", "compare", "runs/search", "runs/train"),
    "runs tail": ("runs", "tail", "runs/search", "--follow"),
    "runs check": ("runs", "check"),
    "report": ("report", "runs/search", "--out", "page.html"),
    "evaluate": ("evaluate", "runs/train", "--data", "few.npz"),
    "export": ("export", "runs/train", "--format", "python", "--data", "few.npz", "--out", "net.py"),
    "check": ("check", "--device", "cpu", "--only", "random", "--threads", "1"),
    "list": ("list",),
    "info": ("info", "darts-v2"),
    "info --space": ("info", "--space", "nano"),
    "oracle query": ("oracle", "query", "nano", "|nor_conv_3x3~0|+|skip_connect~0|none~1|"),
    "oracle import": ("oracle", "import", "tiny", "source", "--out", "table"),
    "data get": ("data", "get", "digits"),
    "data show": ("data", "show", "few.npz"),
    "data where": ("data", "where"),
    "analyse topology": ("analyse", "topology", "darts-v2"),
    "analyse variants": ("analyse", "variants", "darts-v2"),
    "analyse landscape": (
        "analyse",
        "landscape",
        "runs/train",
        "--grid",
        "3",
        "--examples",
        "8",
        "--out",
        "land",
    ),
    "analyse line": ("analyse", "line", "runs/train", "--points", "3", "--examples", "8"),
    "analyse hessian": (
        "analyse",
        "hessian",
        "runs/train",
        "--count",
        "1",
        "--examples",
        "8",
        "--trace",
        "--density",
    ),
    "analyse trajectory": ("analyse", "trajectory", "runs/search"),
    "analyse attention": ("analyse", "attention", "runs/search"),
    "analyse stability": ("analyse", "stability", "runs/search"),
}


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("command", CASES)
def test_keys(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "IMPORTS", {"tiny": import_nothing})
    check_keys(command, printed(*CASES[command]))


def test_keys_of_searches_and_trainings(made: dict[str, dict[str, Any]]) -> None:
    for command, facts in made.items():
        check_keys(command, facts)


@pytest.mark.usefixtures("made")
def test_keys_of_many_runs() -> None:
    out = ("--data", "few.npz", "--quiet")
    check_keys(
        "protocol", printed("protocol", *PROTOCOL, *out, "--threads", "1", "--out", "p", "--no-report")
    )
    words = ("bench", *BENCH, *out, "--oracle", "toy", "--plugin", PLUGIN, "--out", "b")
    check_keys("bench", printed(*words, "--methods", "darts", "--seeds", "0", "queries=5"))
    Path("sweep.yaml").write_text(yaml.safe_dump(tiny("few.npz", settings={"epochs": 1})))
    sweep = ("sweep", "sweep.yaml", "--executor", "here", "--threads", "1", "--out", "s")
    check_keys("sweep --dry-run", printed(*sweep, "--dry-run"))
    check_keys("sweep", printed(*sweep))
    words = ("analyse", "convergence", "runs/search", "epochs=1", "batch=16", "net.channels=2")
    check_keys("analyse convergence", printed(*words, "--data", "few.npz", "--out", "c"))


def test_keys_of_what_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from helpers.report_runs import make_search

    monkeypatch.chdir(tmp_path)
    make_search(tmp_path / "a")
    facts = printed("runs", "rm", "a", "--yes")
    check_keys("runs rm", facts)
    assert facts == {"removed": ["a"]}
    assert not Path("a").exists()


def test_nothing_is_removed_without_yes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from helpers.report_runs import make_search

    monkeypatch.chdir(tmp_path)
    make_search(tmp_path / "a")
    assert main(["runs", "rm", "a", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("add --yes\n")
    assert Path("a").exists()


def test_damage_is_printed_with_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from helpers.report_runs import make_search

    monkeypatch.chdir(tmp_path)
    make_search(tmp_path / "a")
    with (tmp_path / "a" / "metrics.jsonl").open("a") as file:
        file.write(" ")
    assert printed("runs", "check", "a", code=1)["runs"][0]["state"] == "damaged"


@pytest.mark.usefixtures("made")
def test_one_method_and_its_options() -> None:
    (method,) = printed("list", "methods", "gdas")["methods"]
    assert method.keys() == {"name", "about", "options"}
    assert {"name": "method.lr", "default": "auto", "type": "float | auto", "about": ""} in method["options"]
    assert [row["name"] for row in printed("list", "settings", "weights.lr")["settings"]] == ["weights.lr"]


@pytest.mark.parametrize(
    "words", [["info", "nonsense"], ["runs", "nowhere"], ["search", "epochs=x"], ["train"]]
)
def test_a_mistake_prints_no_object(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--json"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def leaves(parser: ArgumentParser, name: str = "") -> Iterator[tuple[str, ArgumentParser]]:
    """The commands that have no commands below them, by name."""
    if isinstance(parser, CommandParser):
        parser.load()
    below = [action.choices for action in parser._actions if isinstance(action.choices, dict)]
    if not below:
        yield name, parser
    for word, inner in below[0].items() if below else ():
        yield from leaves(inner, f"{name} {word}".strip())


def test_every_command_takes_json_and_is_on_the_page() -> None:
    commands = {name: parser for name, parser in leaves(make_parser()) if name not in WITHOUT}
    for name, parser in commands.items():
        assert "--json" in parser._option_string_actions, name
        assert SAME.get(name, name) in documented(), name
    known = {name.split(" --")[0].removesuffix(" all") for name in documented()}
    assert known == commands.keys() - SAME.keys()


def test_every_command_of_the_page_is_tested() -> None:
    own = {name for name in documented() if not name.startswith(PAPERS)}
    here = {
        "search",
        "train",
        "protocol",
        "bench",
        "sweep",
        "sweep --dry-run",
        "analyse convergence",
        "runs rm",
    }
    assert own == {*CASES} | here
