"""Runs that earlier versions wrote are listed, shown, reported and resumed, through the command line alone.

The runs of version 0.1 are in tests/fixtures/runs-0.1, each half-way and finished; see the README there.
Those of each later format are in a folder of their own, one of every kind. What is resumed
must end as the finished one did. How far that can be asked for depends on the machine: torch and the
libraries below it choose their kernels by the processor, and the order in which a kernel adds decides the
last bits of a sum. So on the processor and with the torch of machine.json everything must agree to the last
bit: the digest over every weight, and the numbers of every epoch. Elsewhere rounding differs, and grows with
every step: there the genotypes must still be the same, and the losses agree to `CLOSE`.
"""

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from dartboard.cli.main import main
from helpers import console
from helpers.doc_pages import load_script

OLD = Path(__file__).parents[1] / "fixtures" / "runs-0.1"
FORMAT_2 = OLD.with_name("runs-format-2")
KINDS = {"search": 1, "train": 1, "from": 1, "sweep": 2, "protocol": 5, "bench": 2}
"""By kind, how many runs of format 2 have a result in the end, or are in what has none."""
SEARCHES = ("darts", "gaea-darts-erm", "pc-darts", "gdas", "xnas", "asm")
GROUPS = {"protocol": 5, "sweep": 4, "bench": 4}
"""By name, how many runs there are inside in the end."""
NAMES = (*SEARCHES, "train", *GROUPS)
HALF, WHOLE = "half-way", "finished"
CLOSE = 5e-3
"""How far losses may differ, relative to them, on another processor."""
UNEQUAL = ("seconds", "warnings", "verdict", "versions", "environment", "remarks", "difference")
"""Parts of what is told that depend on the time, the machine, the wording or on what random search draws, by
the end of their name."""
BASELINES = ("baseline", "reference")
"""Kinds of rows of a scoreboard that searches are compared with: later versions draw other cells."""
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of all runs to work in; commands set the number of threads for that long alone."""
    shutil.copytree(OLD, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")
    before = torch.get_num_threads()
    yield tmp_path / "old"
    torch.set_num_threads(before)


@cache
def is_same_machine() -> bool:
    """Whether bits can be compared with those of the machine that wrote the runs."""
    return bool(load_script("make_old_runs").machine() == json.loads((OLD / "machine.json").read_text()))


def go_on(capsys: Capture, run: str) -> dict[str, Any]:
    """What the command says that goes on with a run."""
    name = Path(run).name
    if name == "sweep":
        words = ["sweep", run, "--executor", "here"]
    elif name == "bench":
        words = ["bench", "--out", run]
    else:
        verb = "train" if name == "from" else name if name in ("train", "protocol") else "search"
        words = [verb, "--resume", run, "--no-report"]
    return console.json_output(capsys, *words, "--threads", "1", "--quiet")


def files(folder: Path, name: str) -> dict[str, str]:
    """The text of all files of a name in a folder, by their place."""
    found = sorted(folder.rglob(name))
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in found}


def lasting(value: Any) -> Any:
    """Plain values without those that differ from one time to the next."""
    if isinstance(value, dict):
        return {key: lasting(own) for key, own in value.items() if not key.endswith(UNEQUAL)}
    if isinstance(value, list):
        return [lasting(own) for own in value if not (isinstance(own, dict) and own.get("kind") in BASELINES)]
    return value


def rows(text: str) -> list[dict[str, Any]]:
    """The epochs of a run."""
    return [json.loads(line) for line in text.splitlines()]


def within(old: Any, new: Any) -> Any:
    """Of new values those that old ones have too: later versions may say more."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: within(own, new[key]) for key, own in old.items() if key in new}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [within(*both) for both in zip(old, new, strict=True)]
    return new


def losses(told: list[dict[str, Any]]) -> list[float]:
    """The losses that were minimized, of all epochs."""
    return [row[key] for row in told for key in ("train_loss", "arch_loss") if row.get(key) is not None]


def genotypes(value: Any) -> list[Any]:
    """All genotypes in plain values, in their order."""
    if isinstance(value, dict):
        found = [value["genotype"]] if "genotype" in value else []
        return found + [own for key in sorted(value) for own in genotypes(value[key])]
    return [own for part in value for own in genotypes(part)] if isinstance(value, list) else []


def same_end(old: dict[str, Any], new: dict[str, Any], place: str) -> None:
    """Checks that two results say the same, the digests among it where the machine is the same."""
    assert genotypes(within(old, new)) == genotypes(old), place
    if is_same_machine():
        assert within(lasting(old), new) == lasting(old), place


def same_way(old: list[dict[str, Any]], new: list[dict[str, Any]], place: str) -> None:
    """Checks that two runs had the same epochs, to the last bit where the machine is the same."""
    assert [row["step"] for row in new] == [row["step"] for row in old], place
    assert losses(new) == pytest.approx(losses(old), rel=CLOSE), place
    if is_same_machine():
        assert within(lasting(old), new) == lasting(old), place


def agree(old: Path, new: Path) -> int:
    """Checks that all runs in one folder ended as those in another; returns how many there are."""
    ended, results = files(old, "result.json"), files(new, "result.json")
    assert list(results) == list(ended)
    for place, text in ended.items():
        same_end(json.loads(text), json.loads(results[place]), place)
    epochs = files(new, "metrics.jsonl")
    for place, text in files(old, "metrics.jsonl").items():
        same_way(rows(text), rows(epochs[place]), place)
    return len(ended)


def listed(capsys: Capture, folder: str) -> dict[str, dict[str, Any]]:
    """What the list of runs says, by the run's place in the folder."""
    found = console.json_output(capsys, "runs", "list", folder, "--all")["runs"]
    return {str(Path(own["path"]).relative_to(folder)): own for own in found}


@pytest.mark.parametrize("folder", [HALF, WHOLE])
def test_they_are_listed(folder: str, tree: Path, capsys: Capture) -> None:
    found = listed(capsys, folder)
    assert {Path(own).parts[0] for own in found} == set(NAMES)
    for place, own in found.items():
        ended = (tree / folder / place / "result.json").exists()
        assert (own["state"], own["mistake"]) == ("finished" if ended else "stopped", None), place
        if place in SEARCHES:
            assert [own[key] for key in ("kind", "method", "space")] == ["search", place, "nano"]
            assert (own["epoch"], own["epochs"]) == (2 if folder == WHOLE else 1, 2)
            assert 0 < own["accuracy"] < 1
    states = [own["state"] for own in found.values()]
    assert ("stopped" in states) == (folder == HALF)
    if folder == WHOLE:
        assert len(found) == len(SEARCHES) + 1 + 1 + sum(GROUPS.values())


@pytest.mark.parametrize("folder", [HALF, WHOLE])
def test_they_are_shown(folder: str, tree: Path, capsys: Capture) -> None:
    for place, own in listed(capsys, folder).items():
        run = f"{folder}/{place}"
        shown = console.json_output(capsys, "runs", "show", run)
        assert shown.items() >= own.items()
        if own["state"] == "finished":
            result = json.loads((tree / run / "result.json").read_text(encoding="utf-8"))
            assert shown["genotype"] == result.get("genotype", shown["genotype"])
        else:
            assert any("--resume" in line for line in shown["next"]), place
        assert main(["runs", "show", run]) == 0
        assert run in capsys.readouterr().out


@pytest.mark.parametrize("folder", [HALF, WHOLE])
@pytest.mark.parametrize("name", NAMES)
def test_they_are_reported(name: str, folder: str, tree: Path, capsys: Capture) -> None:
    assert main(["report", f"{folder}/{name}"]) == 0
    assert f"{folder}/{name}/report.html" in capsys.readouterr().out
    page = (tree / folder / name / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "nano" in page


@pytest.mark.parametrize("name", NAMES)
def test_they_go_on_to_the_same_end(name: str, tree: Path, capsys: Capture) -> None:
    """And their saved state was used: not all was computed anew."""
    half, whole = tree / HALF / name, tree / WHOLE / name
    begun = files(half, "metrics.jsonl")
    assert len(files(half, "result.json")) < len(files(whole, "result.json"))
    told = go_on(capsys, f"{HALF}/{name}")
    assert told.get("failed", {}) in ({}, [])
    assert agree(whole, half) == {"protocol": 1}.get(name, 0) + GROUPS.get(name, 1)
    for place, text in begun.items():
        assert files(half, "metrics.jsonl")[place].startswith(text), place
    if name not in GROUPS:
        same_end(json.loads((whole / "result.json").read_text(encoding="utf-8")), told, name)
    if name == "bench" and is_same_machine():
        old, new = (json.loads((path / "table.json").read_text()) for path in (whole, half))
        assert within(lasting(old), lasting(new)) == lasting(old)
    assert {own["state"] for own in listed(capsys, f"{HALF}/{name}").values()} == {"finished"}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_finished_stays(name: str, tree: Path, capsys: Capture) -> None:
    """It is told again, and no epoch is computed."""
    folder = tree / WHOLE / name
    results, epochs = files(folder, "result.json"), files(folder, "metrics.jsonl")
    told = go_on(capsys, f"{WHOLE}/{name}")
    assert files(folder, "metrics.jsonl") == epochs
    again = files(folder, "result.json")
    assert list(again) == list(results)
    for place, text in results.items():
        same_end(json.loads(text), json.loads(again[place]), place)
    if name in ("sweep", "bench"):
        assert told["out"] == f"{WHOLE}/{name}"
        assert told["failed"] in ({}, [])
    else:
        same_end(json.loads(results["result.json"]), told, name)


@pytest.fixture
def second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the runs of format 2 to work in."""
    shutil.copytree(FORMAT_2, tmp_path / "second")
    monkeypatch.chdir(tmp_path / "second")
    return tmp_path / "second"


@pytest.mark.parametrize("folder", [HALF, WHOLE])
def test_runs_of_format_2_are_read(folder: str, second: Path, capsys: Capture) -> None:
    """And no file of theirs counts as damaged."""
    found = listed(capsys, folder)
    assert {Path(own).parts[0] for own in found} == set(KINDS)
    assert {own["mistake"] for own in found.values()} == {None}
    for place in found:
        assert (second / folder / place / "config.yaml").read_text().startswith("format: 2\n")
    assert main(["runs", "check", *(f"{folder}/{name}" for name in KINDS)]) == 0
    assert main(["report", f"{folder}/search", f"{folder}/from", "--out", "both.html"]) == 0
    capsys.readouterr()
    shown = console.json_output(capsys, "runs", "show", f"{folder}/search")
    assert shown["config"]["schedule_history"] == [{"until": 1, "epochs": 1}]
    shown = console.json_output(capsys, "runs", "show", f"{folder}/from")
    assert shown["config"]["init"]["weights"].endswith("/finished/train/best.safetensors")


@pytest.mark.parametrize("name", KINDS)
def test_runs_of_format_2_go_on_to_the_same_end(name: str, second: Path, capsys: Capture) -> None:
    """The weights that one started from are not where they were, and need not be."""
    told = go_on(capsys, f"{HALF}/{name}")
    assert told.get("failed", {}) in ({}, [])
    assert agree(second / WHOLE / name, second / HALF / name) == KINDS[name] + (name == "protocol")
    assert {own["state"] for own in listed(capsys, f"{HALF}/{name}").values()} == {"finished"}
