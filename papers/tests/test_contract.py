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


def names(reproduction: Reproduction[Any]) -> str:
    return reproduction.name


def folder() -> Path:
    return Path(papers.__file__).parent


every = pytest.mark.parametrize("reproduction", in_order(), ids=names)


@every
def test_the_name_is_that_of_the_paper_and_of_the_file(reproduction: Reproduction[Any]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", reproduction.name)
    assert reproduction.name.startswith(f"{reproduction.paper}-")
    assert reproduction.paper in PAPERS
    assert Path(inspect.getfile(reproduction.work)).name == f"{reproduction.name.replace('-', '_')}.py"


@every
def test_what_is_said_is_one_sentence_without_a_full_stop(reproduction: Reproduction[Any]) -> None:
    for words in (reproduction.about, reproduction.claim):
        assert words
        assert words == " ".join(words.split())
        assert not words.endswith((".", ";", ",", ":"))
        assert not re.search(r"[a-z)][.!?] [A-Z]", words), f"more than one sentence: {words}"


@every
def test_the_defaults_are_a_laptops(reproduction: Reproduction[Any]) -> None:
    assert isinstance(reproduction.laptop, Scale)
    assert reproduction.laptop == type(reproduction.laptop)()
    assert reproduction.full is None or type(reproduction.full) is type(reproduction.laptop)
    assert reproduction.full != reproduction.laptop


@every
def test_it_takes_minutes(reproduction: Reproduction[Any]) -> None:
    assert 0 < reproduction.minutes <= LONGEST


@every
def test_it_takes_images_and_tables_alone(reproduction: Reproduction[Any]) -> None:
    assert set(reproduction.takes) <= {"data", "table"}
    assert len(set(reproduction.takes)) == len(reproduction.takes)


def fields(model: type[BaseModel]) -> list[str]:
    """The names of all numbers, those of groups included."""
    found = []
    for name, field in model.model_fields.items():
        found.append(name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += fields(field.annotation)
    return found


def sources(reproduction: Reproduction[Any]) -> str:
    """The file of a reproduction and those of other reproductions and papers that it imports from."""
    waiting, found = [Path(inspect.getfile(reproduction.work))], dict[Path, str]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = path.read_text(encoding="utf-8")
            stems = re.findall(r"^from dartboard_papers\.(\w*_\w*) import", found[path], re.MULTILINE)
            waiting += [folder() / f"{stem}.py" for stem in stems]
    return "\n".join(found.values())


@every
def test_every_number_is_read(reproduction: Reproduction[Any]) -> None:
    text = sources(reproduction)
    for name in fields(type(reproduction.laptop)):
        assert re.search(rf"\.{name}\b|include={{[^}}]*\"{name}\"", text), f"nothing reads {name}"


@every
def test_every_number_says_what_it_is(reproduction: Reproduction[Any]) -> None:
    for name, field in type(reproduction.laptop).model_fields.items():
        is_group = isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
        assert is_group or field.description, f"{name} has no description"


def test_there_are_reproductions() -> None:
    files = [path.stem for path in folder().glob("*_*.py") if not path.stem.startswith("_")]
    assert {reproduction.name for reproduction in in_order()} == {stem.replace("_", "-") for stem in files}
