"""Names and texts from files reach the terminal without anything that it would obey."""

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
import yaml

from dartboard.cli.main import main
from helpers.image_folders import write_images

OLD = Path(__file__).parents[1] / "fixtures" / "runs-0.1" / "finished"
CONTROLS = [chr(code) for code in (*range(1, 32), *range(127, 160))]
DIRECTIONS = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")
EVIL = {*CONTROLS, *DIRECTIONS} - {"\n", "\t"}
LETTERS = "aé猫ß"
Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("own_folder")


def evil_name(seed: int) -> str:
    """A name with sequences that clear a screen, set a title, go back, and turn the writing around."""
    random = Random(seed)
    parts = ["\x1b[2J", "\x1b]0;title\x07", "\r", "\x9b31m", "\u202e", *random.choices(sorted(EVIL), k=6)]
    random.shuffle(parts)
    return LETTERS + "x".join(parts) + "z"


def check_output(capsys: Capture) -> str:
    """What was printed, which has nothing that a terminal obeys."""
    out, err = capsys.readouterr()
    assert not EVIL & set(out + err)
    return out + err


def space_file(name: str, group: str = "normal") -> Path:
    space = {"name": name, "stack": {"cells": 3}}
    cell = {
        "inputs": 2,
        "nodes": 4,
        "ops": ["skip_connect", "max_pool_3x3"],
        "edges": "all",
        "output": [2, 3],
    }
    path = Path("space.yaml")
    path.write_text(yaml.safe_dump({**space, "cells": {group: cell, "reduce": cell}}))
    return path


@pytest.mark.parametrize("seed", range(6))
def test_names_of_spaces_and_groups(seed: int, capsys: Capture) -> None:
    name = evil_name(seed)
    assert main(["info", "--space", str(space_file(name))]) == 0
    assert LETTERS in check_output(capsys)
    assert main(["info", "--space", str(space_file("plain", group=name))]) == 2
    check_output(capsys)
    assert main(["search", "--space", str(space_file(name)), "--data", name, "--epochs", "1"]) == 2
    check_output(capsys)


@pytest.mark.parametrize("seed", range(6))
def test_names_of_folders_and_classes(seed: int, capsys: Capture) -> None:
    name = evil_name(seed).replace("/", "")
    write_images(Path(name), {name: 4, "other": 4})
    assert main(["data", "show", name]) == 0
    assert LETTERS in check_output(capsys)
    for line in (
        ["report", name],
        ["runs", name],
        ["runs", "show", name],
        ["info", name],
        [name],
        ["--" + name],
    ):
        assert main(line) in (0, 2)
        check_output(capsys)


@pytest.mark.usefixtures("without_checksums")
@pytest.mark.parametrize("seed", range(4))
def test_texts_of_runs(seed: int, capsys: Capture) -> None:
    name = evil_name(seed)
    run = Path(evil_name(seed + 50).replace("/", ""))
    shutil.copytree(OLD / "darts", run)
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["method"]["name"] = config["data"]["name"] = config[name] = name
    (run / "config.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    result = json.loads((run / "result.json").read_text())
    result["warnings"] = [name]
    result["verdict"] = name
    (run / "result.json").write_text(json.dumps(result))
    lines = [["runs", "."], ["runs", "show", run], ["runs", "tail", run], ["runs", "compare", run, run]]
    lines += [
        ["runs", "check", run],
        ["info", run],
        ["search", "--resume", run],
        ["runs", "rm", run, "--yes"],
    ]
    for line in lines:
        assert main(list(map(str, line))) in (0, 2)
        check_output(capsys)


def test_a_line_break_in_a_name_does_not_make_a_line(capsys: Capture) -> None:
    assert main(["info", "--space", str(space_file("plain\ndartboard: error: false"))]) == 0
    assert not [line for line in capsys.readouterr().out.splitlines() if line.startswith("dartboard")]


def test_colors_of_the_program_itself_stay(program: Path) -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    words = [program, "info", "--space", space_file("a\x1b[31mb")]
    subprocess.run(words, stdout=slave, check=True, env=environment)
    os.close(slave)
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert "\x1b[1m" in shown  # bold
    assert "\x1b[31m" not in shown
    assert "a\\x1b[31mb" in shown
