"""The pages of the methods: every method has one, with its options, and what they name is there."""

import re
from inspect import signature
from pathlib import Path

import pytest

from dartboard.search import METHODS
from dartboard.search.recipes import RECIPES as SEARCHES
from dartboard.train.recipes import RECIPES as TRAININGS

FOLDER = Path(__file__).parents[1] / "docs" / "methods"
SHIPPED = [name for name, make in METHODS.items() if make.__module__.startswith("dartboard.search.methods.")]
"""Other tests may register methods of their own."""
SHARED = {"gaea-darts-erm": "gaea-darts", "evolution": "random"}
"""Methods that are on the page of another."""
COMMON = {"index", "costs", "open-points"}
"""Pages about all methods."""
SECTIONS = ("## Mathematics", "## The method", "## Options", "numbers and ours", "## When to use")
ROW = re.compile(r"^\| `method\.(\w+)` \| (\S+) \| \S", re.MULTILINE)


def page(method: str) -> str:
    return (FOLDER / f"{SHARED.get(method, method)}.md").read_text(encoding="utf-8")


def told(default: object) -> str:
    """A default as the command line prints it."""
    return "null" if default is None else str(default).lower()


def test_every_page_is_of_a_method() -> None:
    names = {path.stem for path in FOLDER.glob("*.md")}
    assert names == {SHARED.get(name, name) for name in SHIPPED} | COMMON


@pytest.mark.parametrize("method", SHIPPED)
def test_a_page_says_all_there_is_to_say(method: str) -> None:
    text = page(method)
    assert [section for section in SECTIONS if section not in text] == []
    assert f"`{method}`" in text
    assert "```python" in text
    assert "```sh\ndartboard search" in text
    assert "<!-- measured " in text


@pytest.mark.parametrize("method", SHIPPED)
def test_a_page_has_the_options_with_their_defaults(method: str) -> None:
    own = {name: told(option.default) for name, option in signature(METHODS[method]).parameters.items()}
    shown = dict(ROW.findall(page(method)))
    assert {name: shown.get(name) for name in own} == own


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_shows_no_option_that_is_not_there(path: Path) -> None:
    methods = [name for name in SHIPPED if SHARED.get(name, name) == path.stem]
    known = {option for name in methods for option in signature(METHODS[name]).parameters}
    assert set(dict(ROW.findall(path.read_text(encoding="utf-8")))) == known


def test_the_overview_links_to_every_page() -> None:
    overview = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert [name for name in SHIPPED if f"({SHARED.get(name, name)}.md)" not in overview] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_recipes_that_are_named_are_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = {
        name
        for sentence in re.findall(r"Recipes?:[^.]*", text)
        for name in re.findall(r"`([\w-]+)`", sentence)
    }
    assert named <= {*SEARCHES, *TRAININGS, "none", "dartboard protocol"}
    flagged = re.findall(r"--recipe (\S+)", text)
    assert set(flagged) <= {*SEARCHES, *TRAININGS}
