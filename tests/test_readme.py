"""What the README shows is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's files in it, each named by its first line."""
    for text in blocks("yaml"):
        name = text.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("session", blocks("console"))
def test_commands_print_what_is_shown(session: str, folder: Path) -> None:
    command, shown = session.split("\n", 1)
    program, *args = command.removeprefix("$ ").split()
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *args],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80", "PYTHONUTF8": "1"},
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.stdout == shown


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs(code: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)


def test_targets_exist() -> None:
    makefile = (README.parent / "Makefile").read_text()
    named = set(re.findall(r"make (\w+)", "\n".join(blocks("sh")) + README.read_text(encoding="utf-8")))
    assert {"demo", "test", "check", "slow", "bench"} <= named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!http)([^)]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
