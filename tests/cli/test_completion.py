"""Completion, asked for as shells do it."""

import shutil
import subprocess
import sys
from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from dartboard.cli import completion
from dartboard.cli.commands import CommandParser, make_parser
from dartboard.cli.completion import NAMES, NAMES_OR_PATHS, SHELLS
from dartboard.cli.main import main
from dartboard.data import DATASETS
from dartboard.export import FORMATS
from dartboard.jobs.executors import list_executors
from dartboard.search import METHODS
from dartboard.search.recipes import RECIPES as SEARCH_RECIPES
from dartboard.space import SPACES
from dartboard.tables import TABLES
from dartboard.train import RECIPES as TRAIN_RECIPES

Complete = Callable[[str], list[str]]
FUNCTION = "_shtab_dartboard"


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    """The script for each shell, printed by the program without torch."""
    code = "import sys; from dartboard.cli.main import main; main(['completion', sys.argv[1]]); "
    code += "sys.exit('torch' in sys.modules)"
    return {
        shell: subprocess.run(
            [sys.executable, "-c", code, shell], capture_output=True, text=True, check=True, timeout=120
        ).stdout
        for shell in SHELLS
    }


@pytest.fixture
def bash(scripts: dict[str, str], tmp_path: Path) -> Complete:
    """What bash offers for the last word of a line, in a folder with a run."""
    (tmp_path / "dartboard.bash").write_text(scripts["bash"])
    (tmp_path / "folder" / "runs" / "my-run").mkdir(parents=True)

    def complete(line: str) -> list[str]:
        ask = f'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {FUNCTION}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        words = ["bash", "--norc", "-c", f"source ../dartboard.bash; {ask}", "bash", *line.split(" ")]
        done = subprocess.run(
            words, cwd=tmp_path / "folder", capture_output=True, text=True, check=True, timeout=60
        )
        # compopt works only while the user types.
        assert all("compopt" in complaint for complaint in done.stderr.splitlines())
        return done.stdout.split()

    return complete


def test_bash_knows_the_program(scripts: dict[str, str]) -> None:
    words = ["bash", "--norc", "-c", f"{scripts['bash']}\ncomplete -p dartboard"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split()[-3:] == ["-F", FUNCTION, "dartboard"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dartboard swe", ["sweep"]),
        ("dartboard runs sh", ["show"]),
        ("dartboard analyse topo", ["topology"]),
        ("dartboard search --meth", ["--method"]),
        ("dartboard search --method gaea-g", ["gaea-gdas"]),
        ("dartboard search --space nb", ["nb201"]),
        ("dartboard search --space ru", ["runs"]),
        ("dartboard search --recipe gdas", ["gdas"]),
        ("dartboard train darts-v", ["darts-v1", "darts-v2"]),
        ("dartboard train darts-v2 --recipe qu", ["quick"]),
        ("dartboard export --format on", ["onnx"]),
        ("dartboard export runs/my-run --format on", ["onnx"]),
        ("dartboard runs show runs/m", ["runs/my-run"]),
        ("dartboard search --resume runs/m", ["runs/my-run"]),
        ("dartboard runs list --state fin", ["finished"]),
        ("dartboard data get kmn", ["kmnist"]),
        ("dartboard list rec", ["recipes"]),
        ("dartboard completion f", ["fish"]),
    ],
)
def test_bash_completes(line: str, expected: list[str], bash: Complete) -> None:
    assert bash(line) == expected


def test_names_are_those_that_are_registered() -> None:
    registries: dict[Callable[[], list[str]], Iterable[str]] = {
        completion.methods: METHODS,
        completion.spaces: SPACES,
        completion.datasets: DATASETS,
        completion.tables: TABLES,
        completion.formats: FORMATS,
        completion.executors: list_executors(),
        completion.search_recipes: SEARCH_RECIPES,
        completion.train_recipes: TRAIN_RECIPES,
    }
    # Other tests register methods and the like of their own.
    for names, registry in registries.items():
        own = [name for name in registry if not hasattr(registry, "origin") or registry.origin(name).builtin]
        assert names() == sorted(own)


def actions(parser: ArgumentParser) -> Iterable[tuple[ArgumentParser, Action]]:
    """All arguments of a command and of those below it, each with its parser."""
    if isinstance(parser, CommandParser):
        parser.load()
    for action in parser._actions:
        yield parser, action
        if isinstance(action.choices, dict):
            for inner in action.choices.values():
                yield from actions(inner)


def test_every_name_that_help_points_to_is_completed() -> None:
    named = {*NAMES, *NAMES_OR_PATHS}
    used = set()
    for parser, action in actions(make_parser()):
        keys = {action.dest, f"{parser.prog.split()[-1]}.{action.dest}"}
        used |= keys & named
        if "see dartboard list" in (action.help or "") and action.metavar != "KEY=VALUE":
            assert keys & named, (parser.prog, action.dest)
    assert used == named


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "invalid choice: 'tcsh' (choose from 'bash', 'zsh', 'fish')" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_has_no_mistake_in_its_syntax(shell: str, scripts: dict[str, str], tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(scripts[shell])
    flags = ["-f", "-n"] if shell == "zsh" else ["--no-config", "--no-execute"]
    done = subprocess.run(
        [program, *flags, str(tmp_path / "script")], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_completes(scripts: dict[str, str], tmp_path: Path) -> None:
    fish = shutil.which("fish")
    if fish is None:
        pytest.skip("fish is not installed")
    (tmp_path / "dartboard.fish").write_text(scripts["fish"])
    for line, expected in (
        ("dartboard swe", "sweep"),
        ("dartboard search --method gaea-g", "gaea-gdas"),
        ("dartboard search --space nb", "nb201"),
        ("dartboard export x --format on", "onnx"),
    ):
        ask = f"source dartboard.fish; complete -C '{line}'"
        done = subprocess.run(
            [fish, "--no-config", "-c", ask],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert [each.split("\t")[0] for each in done.stdout.splitlines()] == [expected]
