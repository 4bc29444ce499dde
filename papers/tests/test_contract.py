"""What holds for every reproduction, by being registered."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import dartboard_papers as papers
from dartboard_papers import PAPERS, Reproduction, Scale, in_order

LONGEST = 15
"""Minutes."""


def names(told: Reproduction[Any]) -> str:
    return told.name


def folder() -> Path:
    return Path(papers.__file__).parent


every = pytest.mark.parametrize("told", in_order(), ids=names)


@every
def test_the_name_is_that_of_the_paper_and_of_the_file(told: Reproduction[Any]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", told.name)
    assert told.name.startswith(f"{told.paper}-")
    assert told.paper in PAPERS
    assert Path(inspect.getfile(told.work)).name == f"{told.name.replace('-', '_')}.py"


@every
def test_what_is_said_is_one_sentence_without_a_full_stop(told: Reproduction[Any]) -> None:
    for words in (told.about, told.claim):
        assert words
        assert words == " ".join(words.split())
        assert not words.endswith((".", ";", ",", ":"))
        assert not re.search(r"[a-z)][.!?] [A-Z]", words), f"more than one sentence: {words}"


@every
def test_the_defaults_are_a_laptops(told: Reproduction[Any]) -> None:
    assert isinstance(told.laptop, Scale)
    assert told.laptop == type(told.laptop)()
    assert told.full is None or type(told.full) is type(told.laptop)
    assert told.full != told.laptop


@every
def test_it_takes_minutes(told: Reproduction[Any]) -> None:
    assert 0 < told.minutes <= LONGEST


@every
def test_it_takes_images_and_tables_alone(told: Reproduction[Any]) -> None:
    assert set(told.takes) <= {"data", "table"}
    assert len(set(told.takes)) == len(told.takes)


def fields(model: type[BaseModel]) -> list[str]:
    """The names of all numbers, those of groups included."""
    found = []
    for name, field in model.model_fields.items():
        found.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += fields(field.annotation)
    return found


def sources(told: Reproduction[Any]) -> str:
    """The file of a reproduction and those of other reproductions and papers that it imports from."""
    waiting, found = [Path(inspect.getfile(told.work))], dict[Path, str]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = path.read_text(encoding="utf-8")
            stems = re.findall(r"^from dartboard\.papers\.(\w*_\w*) import", found[path], re.MULTILINE)
            waiting += [folder() / f"{stem}.py" for stem in stems]
    return "\n".join(found.values())


@every
def test_every_number_is_read(told: Reproduction[Any]) -> None:
    text = sources(told)
    for name in fields(type(told.laptop)):
        assert re.search(rf"\.{name}\b|include={{[^}}]*\"{name}\"", text), f"nothing reads {name}"


@every
def test_every_number_says_what_it_is(told: Reproduction[Any]) -> None:
    for name, field in type(told.laptop).model_fields.items():
        is_group = isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        assert is_group or field.description, f"{name} has no description"


def test_there_are_reproductions() -> None:
    files = [path.stem for path in folder().glob("*_*.py") if not path.stem.startswith("_")]
    assert {told.name for told in in_order()} == {stem.replace("_", "-") for stem in files}
