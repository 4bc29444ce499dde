"""The reference that is made from the program has every command, flag, setting and name."""

import re
from argparse import ArgumentParser
from pathlib import Path
from types import ModuleType

import pytest

from dartboard.cli import commands
from dartboard.config.schema import option_rows, setting_rows
from dartboard.scoreboard.config import BenchConfig
from dartboard.search import METHODS
from dartboard.search.config import SearchConfig
from dartboard.space import SPACES
from dartboard.sweep.config import SweepConfig
from dartboard.train.config import TrainConfig
from helpers.doc_pages import ROOT, load_script

ROW = re.compile(r"^\| `([^`]+)` \| (?:`([^`]*)`)? \| (.*?) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("reference_pages")


@pytest.fixture(scope="module")
def made(script: ModuleType) -> dict[str, str]:
    pages: dict[str, str] = script.reference_pages()
    return pages


def test_every_command_has_a_page_with_what_its_help_says(
    made: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    commands.run(["--help"])
    listed = capsys.readouterr().out.partition("\ncommands:\n")[2]
    names = re.findall(r"^    (\w+)(?:  |$)", listed, re.MULTILINE)
    assert "search" in names
    assert {f"commands/{name}.md" for name in names} | {"commands/index.md"} == {
        page for page in made if page.startswith("commands/")
    }
    for name in names:
        commands.run([name, "--help"])
        flags = set(re.findall(r"^  (?:-\w(?: \w+)?, )?(--[\w-]+)", capsys.readouterr().out, re.MULTILINE))
        assert [flag for flag in flags - {"--help"} if f"{flag}" not in made[f"commands/{name}.md"]] == []
        assert f"({name}.md)" in made["commands/index.md"]


def test_subcommands_are_sections(made: dict[str, str]) -> None:
    assert "## dartboard runs tail\n" in made["commands/runs.md"]
    assert "| `-n, --lines N` | number of epochs (default: 10) |" in made["commands/runs.md"]
    assert "### dartboard analyse theory experts\n" in made["commands/analyse.md"]


@pytest.mark.parametrize(
    ("page", "schema"),
    [("search", SearchConfig), ("train", TrainConfig), ("bench", BenchConfig), ("sweep", SweepConfig)],
)
def test_every_setting_is_there_with_default_and_type(made: dict[str, str], page: str, schema: type) -> None:
    rows = {row.key: row for row in setting_rows(schema)}
    shown = {key: (default, kind) for key, default, kind in ROW.findall(made[f"settings/{page}.md"])}
    assert set(shown) == {*rows, "kind"}
    named = {key: row for key, row in rows.items() if not key.endswith(".OPTION")}
    assert {key: shown[key] for key in named} == {
        key: (row.default, row.kind.replace("|", "\\|")) for key, row in named.items()
    }


def test_limits_are_those_that_settings_are_checked_by(made: dict[str, str]) -> None:
    search, train = made["settings/search.md"], made["settings/train.md"]
    assert "| `data.valid` | `null` | float \\| null | at least 0, at most 0.9 |" in search
    assert "| `seed` | `0` | int | at least 0, below 2^63 |" in search
    assert "| `net.cells` | `null` | int \\| null | at least 1, at most 1,000 |" in train
    assert "| `weights.lr` | `0.025` | float | above 0, at most 1e+30 |" in search
    assert "| `executor.gpus` | `0` | int | at least 0 |" in made["settings/executors.md"]


def test_methods_have_their_options_and_spaces_their_ops(made: dict[str, str]) -> None:
    sections = dict(
        re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", made["settings/methods.md"], re.DOTALL | re.MULTILINE)
    )
    shipped = {name for name, make in METHODS.items() if make.__module__.startswith("dartboard.")}
    assert set(sections) == shipped
    for name in shipped:
        rows = [(row.key, row.default) for row in option_rows(METHODS[name], "method.")]
        assert re.findall(r"^\| `(\S+)` \| `(.*?)` \|", sections[name], re.MULTILINE) == rows
    spaces = re.findall(r"^\| `([\w-]+)` \|", made["settings/spaces.md"], re.MULTILINE)
    assert set(spaces) == {name for name, make in SPACES.items() if make.__module__.startswith("dartboard.")}
    assert "`sep_conv_3x3` |\n" in made["settings/spaces.md"]


def test_recipes_have_their_values(made: dict[str, str]) -> None:
    section = made["settings/recipes.md"].partition("### darts-cifar (train)\n")[2].partition("\n### ")[0]
    assert "epochs: 600" in section
    assert "channels: 36" in section


def test_guides_link_to_the_reference_and_back(script: ModuleType, made: dict[str, str]) -> None:
    for command, guide in script.GUIDES.items():
        text = (ROOT / "docs" / guide).read_text(encoding="utf-8")
        above = "../" * guide.count("/")
        assert f"({above}reference/commands/{command}.md)" in text, f"{guide} does not link to {command}"
        assert f"[Guide](../../{guide})" in made[f"commands/{command}.md"]


def test_a_docstring_keeps_its_paragraphs_and_its_examples(script: ModuleType) -> None:
    text = "First line.\n\nA paragraph\nof two lines:\n\n    $ one\n    $ two\n"
    expected = "First line.\n\nA paragraph of two lines:\n\n```text\n$ one\n$ two\n```"
    assert script._prose(text) == expected


def test_arguments_are_shown_as_they_are_typed(script: ModuleType) -> None:
    parser = ArgumentParser()
    actions = [
        parser.add_argument("-n", "--lines", type=int, metavar="N"),
        parser.add_argument("--state", choices=["a", "b"]),
        parser.add_argument("--yes", action="store_true"),
        parser.add_argument("--out", type=Path),
        parser.add_argument("run", nargs="+", metavar="RUN"),
    ]
    assert [script._argument(action) for action in actions] == [
        "`-n, --lines N`", "`--state {a,b}`", "`--yes`", "`--out OUT`", "`RUN`",
    ]  # fmt: skip
