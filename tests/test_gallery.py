"""The gallery of the analyses: every tool has its picture, and a command that makes it."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from dartboard.cli.analyse import TOOLS
from dartboard.cli.commands import package_commands
from helpers.doc_pages import load_script

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "analysis-gallery.md").read_text(encoding="utf-8")
LARGEST = 150_000
NAMES = [*TOOLS, *package_commands("analyse", TOOLS)]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that makes the pictures."""
    return load_script("gallery")


def test_every_tool_has_a_section_with_its_command(script: ModuleType) -> None:
    assert re.findall(r"^## (\w+)$", PAGE, re.MULTILINE) == NAMES
    tools = [words[1] for words in script.commands(PAGE) if words[0] == "analyse"]
    assert list(dict.fromkeys(tools)) == NAMES


def test_every_picture_of_the_script_is_on_the_page(script: ModuleType) -> None:
    shown = re.findall(r"\]\(figures/gallery/(\w+)\.png\)", PAGE)
    assert shown == list(script.PICTURES)
    assert {path.stem for path in (ROOT / "docs" / "figures" / "gallery").iterdir()} == set(shown)


def test_what_a_picture_is_taken_from_is_what_a_command_writes(script: ModuleType) -> None:
    folders = [words[words.index("--out") + 1] for words in script.commands(PAGE) if "--out" in words]
    assert {Path(source).parent.name for source in script.PICTURES.values()} <= set(folders)


@pytest.mark.parametrize("folder", ["gallery", "readme"])
def test_pictures_are_small(folder: str) -> None:
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs" / "figures" / folder).iterdir()}
    assert sizes
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}
