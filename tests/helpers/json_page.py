"""The keys that docs/reference/json.md lists for each command."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
KEY = re.compile(r"^\| `(?P<key>[^`]+)`(?P<condition> \(.*?\))? \|", re.MULTILINE)


def documented() -> dict[str, tuple[set[str], set[str]]]:
    """By command line, such as `runs show`, the keys that are always there and those that may be."""
    commands = {}
    for section in PAGE.read_text().split("\n### dartboard ")[1:]:
        name, _, rest = section.partition("\n")
        rows = KEY.findall(rest.split("\n## ")[0])
        always = {key for key, condition in rows if not condition}
        commands[name] = always, {key for key, condition in rows if condition}
    return commands


def check_keys(command: str, facts: Mapping[str, Any]) -> None:
    """Compare the keys of what a command has printed with the page; LABEL and NAME are any keys."""
    always, sometimes = documented()[command]
    if always in ({"LABEL"}, {"NAME"}):
        assert facts
        return
    assert facts.keys() - sometimes == always, command
