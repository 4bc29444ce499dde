"""The format of a run: written in config.yaml, absent in those of version 0.1, refused if it is newer."""

import json
from pathlib import Path

import pytest
import yaml

from dartboard.cli.main import main
from dartboard.config.loader import read_file
from dartboard.errors import NewerFormatError, OptionError, RunError
from dartboard.runs import Run, RunReader, summarize_run
from dartboard.runs.directory import FORMAT

NEWER = (
    f"format {FORMAT + 1}, of a newer dartboard, and this one reads formats up to {FORMAT}; upgrade it: pip"
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run that says little."""
    with Run.create(tmp_path / "run", {"kind": "search", "epochs": 3}) as run:
        run.record(0, {"step": 1}, {})
    return tmp_path / "run"


def write_format(path: Path, number: object) -> None:
    """Writes another format into a run, or none, and removes its checksums."""
    (path / "checksums.txt").unlink(missing_ok=True)
    values = yaml.safe_load((path / "config.yaml").read_text()) | {"format": number}
    if number is None:
        del values["format"]
    (path / "config.yaml").write_text(yaml.safe_dump(values))


def test_it_is_written_first_and_is_no_setting(path: Path) -> None:
    assert (path / "config.yaml").read_text().startswith(f"format: {FORMAT}\n")
    assert RunReader.read(path).config == {"kind": "search", "epochs": 3}
    assert read_file(path / "config.yaml") == {"kind": "search", "epochs": 3}
    with Run.resume(path) as run:
        run.reconfigure({"epochs": 4})
    assert (path / "config.yaml").read_text() == f"format: {FORMAT}\nkind: search\nepochs: 4\n"


def test_without_it_a_run_is_of_the_first_version(path: Path) -> None:
    write_format(path, None)
    assert RunReader.read(path).config == {"kind": "search", "epochs": 3}
    assert summarize_run(path).mistake is None
    Run.resume(path).close()
    assert "format" not in (path / "config.yaml").read_text()  # what is not changed stays as it is


def test_a_newer_one_is_refused_and_is_no_damage(path: Path) -> None:
    write_format(path, FORMAT + 1)
    for read in (RunReader.read, Run.read, Run.resume):
        with pytest.raises(NewerFormatError, match=NEWER):
            read(path)
    with pytest.raises(OptionError, match=NEWER):
        read_file(path / "config.yaml")
    found = summarize_run(path)
    assert (found.state, found.kind, found.epoch) == ("stopped", None, 1)
    assert NEWER in str(found.mistake)


@pytest.mark.parametrize(
    "words",
    [
        *(["search", "--resume"], ["train", "--resume"], ["protocol", "--resume"], ["search", "--config"]),
        *(
            ["runs", "show"],
            ["runs", "tail"],
            ["report"],
            ["train"],
            ["info"],
            ["export", "--format", "onnx"],
        ),
        ["train", "darts-v2", "--from"],
    ],
)
def test_every_command_says_so_in_one_line(words: list[str], path: Path, capsys: Capture) -> None:
    write_format(path, FORMAT + 1)
    (path / "best.safetensors").write_bytes(b"nothing")
    last = path / "config.yaml" if words[-1] == "--config" else path
    assert main([*words, str(last)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert NEWER in err


def test_the_list_names_it(path: Path, capsys: Capture) -> None:
    write_format(path, FORMAT + 1)
    assert main(["runs", "list", str(path.parent), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert [run["state"] for run in listed] == ["stopped"]
    assert NEWER in listed[0]["mistake"]


@pytest.mark.parametrize("number", ["two", 0, True, -1, 2.0])
def test_what_is_no_format_is_an_error(number: object, path: Path) -> None:
    write_format(path, number)
    with pytest.raises(RunError, match="formats are numbers from 1 on; it was changed"):
        RunReader.read(path)
