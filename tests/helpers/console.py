"""What the program says to those who come through its own front door."""

import json
import re
from typing import Any

import pytest

from dartboard.cli.main import main

Capture = pytest.CaptureFixture[str]
NOTICE = r"dartboard: running .*, a \w+ program: use only those you trust"
"""What is said of every file that runs code."""


def without_notices(err: str) -> str:
    """What is left of standard error without the lines that say that a program is run."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not re.fullmatch(NOTICE, line.rstrip("\n")))


def error_line(capsys: Capture, *words: object) -> str:
    """The one line in which a command ends that was wrong."""
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    err = without_notices(err)
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("dartboard: error: ")
    return err.removeprefix("dartboard: error: ").rstrip()


def json_output(capsys: Capture, *words: object) -> dict[str, Any]:
    """The one object that a command prints as JSON, and nothing else."""
    assert main([*map(str, words), "--json"]) == 0
    out, err = capsys.readouterr()
    assert without_notices(err) == ""
    assert out.count("\n") == 1
    return dict(json.loads(out))
