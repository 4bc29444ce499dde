"""The verb `protocol`, through the program's own front door."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dartboard.cli.display import Display
from dartboard.cli.main import main
from dartboard.report import REPORT
from dartboard.runs import Run
from helpers import console
from helpers.protocol_cases import TINY, all_results, few_digits, inner_runs

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny protocol, its images beside it."""
    path = tmp_path_factory.mktemp("usual")
    data = few_digits(path / "few.npz")
    args = ["--data", data, "--out", str(path / "run"), "--quiet", "--threads", "1"]
    assert main(["protocol", *TINY, *args]) == 0
    return path / "run"


@pytest.fixture
def tiny(usual: Path) -> list[str]:
    return [*TINY, "--data", str(usual.parent / "few.npz"), "--threads", "1"]


def found(capsys: Capture, *args: str) -> dict[str, Any]:
    return console.json_output(capsys, "protocol", *args)


def complaint(capsys: Capture, *args: str) -> str:
    return console.error_line(capsys, "protocol", *args)


def test_json_is_one_object(usual: Path, tiny: list[str], capsys: Capture) -> None:
    facts = found(capsys, *tiny)
    assert facts.pop("run") == "runs/protocol-darts-nano-few-s0"
    assert facts == Run.read("runs/protocol-darts-nano-few-s0").result()
    assert all_results(Path("runs/protocol-darts-nano-few-s0")) == all_results(usual)
    assert Run.read(usual).config["kind"] == "protocol"


def test_what_people_see(tiny: list[str], capsys: Capture) -> None:
    assert main(["protocol", *tiny, "--out", "run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 searches of nano with darts on ")
    assert lines[0].endswith("few.npz, 2 seeds, as many random networks, on cpu")
    assert lines[1] == "writing to run"
    assert lines[2].startswith("forecast: ")
    assert lines[3] == "stage 1: 2 searches"
    assert any(line.startswith("search/s0  epoch 1 of 1  loss ") for line in lines)
    assert any(line.startswith("train/random-1  epoch 1 of 2  loss ") for line in lines)
    assert any(line.startswith("final/found-s1  epoch 2 of 2  loss ") for line in lines)
    assert any(re.match(r"train/found-\d is pruned at epoch 1: ", line) for line in lines)
    assert any(re.match(r"final/found-s0  done in \d+ s", line) for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_the_result_in_tables(usual: Path, capsys: Capture) -> None:
    assert main(["protocol", "--resume", str(usual), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    result = Run.read(usual).result() or {}
    rows = [line.split() for line in out.splitlines()]
    for own in result["searches"]:
        assert any(row[:1] == [str(own["seed"])] or row[1:2] == [str(own["seed"])] for row in rows)
    for arm in result["arms"].values():
        for own in arm["networks"]:
            (row,) = [row for row in rows if own["run"].removeprefix("train/") in row[:1]]
            assert row[1] == f"{own['short_accuracy']:.2%}"
            assert row[2] == ("-" if own["accuracy"] is None else f"{own['accuracy']:.2%}")
            assert ("pruned:" in row) == (own["dropped"] is not None)
        words = " ".join(out.split())
        mean, deviation = 100 * arm["summary"]["mean"], 100 * arm["summary"]["deviation"]
        each = ", ".join(f"{100 * own['accuracy']:.2f}" for own in arm["finals"])
        assert f"{mean:.2f} +- {deviation:.2f} % of test images, {arm['best']} with 2 seeds: {each}" in words
        assert f"{arm['parameters']:,} parameters, {arm['flops']:,} FLOPs per image" in words
    assert result["verdict"] in words
    assert f"report {usual / REPORT} " in words
    assert "to search, " in words


def test_a_run_inside_is_a_run(usual: Path, capsys: Capture) -> None:
    for name in ("", "search/s0", "train/found-0", "final/found-s0"):
        assert main(["info", str(usual / name), "--json"]) == 0
        json.loads(capsys.readouterr().out)


def test_the_configuration_of_a_protocol_repeats_it(usual: Path, capsys: Capture) -> None:
    found(capsys, "--config", str(usual / "config.yaml"), "--out", "again", "--threads", "1")
    assert Run.read("again").config == Run.read(usual).config
    assert all_results(Path("again")) == all_results(usual)


def test_flags_files_and_variables_are_settings(
    usual: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("search.yaml").write_text("epochs: 1\nbatch: 16\nnet: {channels: 4}\n")
    Path("train.yaml").write_text("epochs: 1\nbatch: 32\n")
    monkeypatch.setenv("DARTBOARD_PROTOCOL_RANDOM", "none")
    monkeypatch.setenv("DARTBOARD_TRAIN_NET__CHANNELS", "2")
    data = str(usual.parent / "few.npz")
    args = ["--search-config", "search.yaml", "--train-config", "train.yaml", "--train-recipe", "quick"]
    args += ["--method", "gdas", "--space", "nb201", "--seed", "3", "--data", data, "searches=1", "seeds=1"]
    facts = found(capsys, *args, "search.space.cells=1", "--search-recipe", "darts")
    assert facts["run"] == "runs/protocol-gdas-nb201-few-s3"
    config = Run.read(facts["run"]).config
    assert config["search"]["space"] == {"name": "nb201", "cells": 1, "without": []}
    assert config["search"]["weights"]["lr"] == 0.025
    assert config["train"]["weights"]["lr"] == 0.1
    assert (config["train"]["batch"], config["train"]["net"]["channels"]) == (32, 2)
    assert set(inner_runs(Path(facts["run"]))) == {"search/s3", "train/found-0", "final/found-s3"}


@contextmanager
def signal_at(steps: int, *numbers: int) -> Iterator[None]:
    """Inside, this process gets signals after so many steps of all loops."""
    taken = 0

    def send(*_: object) -> None:
        nonlocal taken
        taken += 1
        if taken == steps:
            for number in numbers:
                signal.raise_signal(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Display, "on_step_end", send)
        yield


@pytest.mark.parametrize(("steps", "place"), [(1, "search/s0"), (6, "train/found-0")])
def test_a_protocol_that_was_stopped_goes_on(
    steps: int, place: str, usual: Path, tiny: list[str], capsys: Capture
) -> None:
    with signal_at(steps, signal.SIGTERM):
        assert main(["protocol", *tiny, "--out", "a run", "--quiet"]) == 143
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(
        rf"stopped; runs not begun: \d+; saved: {place}; resume with: dartboard protocol --resume 'a run'\n",
        err,
    )
    assert Run.read("a run").state == "stopped"
    found(capsys, "--resume", "a run")
    assert all_results(Path("a run")) == all_results(usual)


def test_a_second_signal_leaves_at_once(tiny: list[str], capsys: Capture) -> None:
    with signal_at(1, signal.SIGINT, signal.SIGINT):
        assert main(["protocol", *tiny, "--out", "run", "--quiet"]) == 130
    assert capsys.readouterr().err == "interrupted; resume with: dartboard protocol --resume run\n"


def test_a_real_process(program: Path, tiny: list[str]) -> None:
    args = [program, "protocol", *tiny, "search.epochs=10000", "--out", "run"]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("search/s0  epoch "):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("resume with: dartboard protocol --resume run\n")
    assert Run.read("run").state == Run.read("run/search/s0").state == "stopped"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["seedss=3"], "no setting called 'seedss'; did you mean 'seeds'?"),
        (["keep=0"], "keep=0: input should be greater than or equal to 1"),
        (["train.weights.lr=-1"], "train.weights.lr=-1: input should be greater than 0"),
        (["--search-recipe", "dart"], "no recipe called 'dart'; did you mean 'darts'?"),
        (["--method", "gaea-dart"], "no method called 'gaea-dart'; did you mean 'gaea-darts'?"),
        (["--space", "nanoo"], "no space called 'nanoo'; did you mean 'nano'?"),
        (["--data", "digit"], "no data set, file or folder called 'digit'; did you mean 'digits'?"),
        (["train.data=nowhere/x"], "there is no file or folder 'nowhere/x'"),
        (["train.space=darts"], "space 'darts' expects the cells normal, reduce; the genotype has cell"),
        (["train.weights.schedule=cosin"], "no schedule called 'cosin'; did you mean 'cosine'?"),
        (["train.batch=100000"], "a batch of 100,000 needs more than the"),
        (["--resume", "no"], "no is not a run: there is no such directory"),
        (
            ["--resume", "x", "--search-recipe", "darts", "seeds=2"],
            "--resume takes the settings of the run; leave out --search-recipe, seeds=2",
        ),
        (["--fall-back"], "--fall-back chooses among the checkpoints of a run; name the run with --resume"),
        (["--config", "a", "--train-config", "b"], "--config has the searches and the trainings; leave out"),
        (["--epochs", "3"], "unrecognized arguments: --epochs"),
        (
            ["search.method=pc-darts", "search.method.warmup=15"],
            "the architecture is frozen for the first 15 epochs and the search has 1, so it",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(args: list[str], message: str, capsys: Capture) -> None:
    words = [] if "--resume" in args else TINY
    assert complaint(capsys, *words, *args).startswith(message)
    assert list(Path().iterdir()) == []


def test_a_run_of_another_verb_is_refused(usual: Path, capsys: Capture) -> None:
    path = usual / "search/s0"
    said = complaint(capsys, "--resume", str(path))
    assert said == f"{path} is a run of dartboard search; resume it with: dartboard search --resume {path}"


@pytest.mark.usefixtures("without_checksums")
def test_damaged_decisions_are_one_line(tiny: list[str], capsys: Capture) -> None:
    with signal_at(6, signal.SIGTERM):
        assert main(["protocol", *tiny, "--out", "run", "--quiet"]) == 143
    capsys.readouterr()
    Path("run/decisions.json").write_text("{")
    assert "decisions.json is not JSON" in complaint(capsys, "--resume", "run")


def test_a_damaged_checkpoint_is_passed_over_on_demand(tiny: list[str], capsys: Capture) -> None:
    with signal_at(3, signal.SIGTERM):
        assert main(["protocol", *tiny, "search.epochs=2", "--out", "run", "--quiet"]) == 143
    capsys.readouterr()
    newest = max(Path("run/search/s0/checkpoints").iterdir())
    tensors = next(newest.glob("*.safetensors"))
    tensors.write_bytes(tensors.read_bytes()[:-9])
    assert "is truncated" in complaint(capsys, "--resume", "run", "--quiet")
    found(capsys, *tiny, "search.epochs=2", "--out", "whole")
    assert main(["protocol", "--resume", "run", "--fall-back", "--quiet"]) == 0
    assert all_results(Path("run")) == all_results(Path("whole"))
