"""The tool `analyse convergence`, through the program's own front door."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dartboard.analysis.variants import random_connections, widest
from dartboard.cli.main import main
from dartboard.runs import Run
from dartboard.space import GENOTYPE_FORMATS, decode, get_published, load_space, space_to_json
from helpers import console

Capture = pytest.CaptureFixture[str]
PATIENCE = 120
NB201 = "|skip_connect~0|+|nor_conv_3x3~0|skip_connect~1|+|none~0|nor_conv_1x1~1|skip_connect~2|"
TINY = ("epochs=2", "batch=16", "net.channels=2", "net.cells=3")
pytestmark = pytest.mark.usefixtures("own_folder")


def found(capsys: Capture, *args: str) -> dict[str, Any]:
    return console.json_output(capsys, "analyse", "convergence", *args, "--quiet")


def complaint(capsys: Capture, *args: str) -> str:
    return console.error_line(capsys, "analyse", "convergence", *args)


def test_what_people_see(data: str, capsys: Capture) -> None:
    assert main(["analyse", "convergence", "darts-v2", "snas", *TINY, "--data", data, "--loss", "0.001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "learning rate 0.025, test images, fastest first; epochs are to loss 0.001 and"
    )
    rows = {line.split()[0]: line.split() for line in lines[2:4]}
    assert rows["darts-v2"][1:3] == ["3.5", "3"]
    assert rows["snas"][1:3] == ["4", "2"]
    assert {row[-2] for row in rows.values()} == {"never"}
    assert lines[-1] == "written to runs/convergence-darts-v2-few"
    names = {path.name for path in Path("runs/convergence-darts-v2-few").iterdir()}
    assert names >= {"curves.svg", "curves.png", "convergence.json", "comparison.json", "runs"}


def test_the_same_command_reads_what_is_there_and_more_adds_to_it(data: str, capsys: Capture) -> None:
    base = ["darts-v2", *TINY, "--data", data, "--out", "out"]
    first = found(capsys, *base)
    begun = Run.read("out/runs/darts-v2-lr0.025-s0").environment()
    more = found(capsys, *base, "--lr", "0.025,0.1", "--seeds", "0-1", "--variants", "1")
    assert Run.read("out/runs/darts-v2-lr0.025-s0").environment() == begun
    assert [own["lr"] for own in more["rates"]] == [0.025, 0.1]
    assert more["seeds"] == [0, 1]
    assert list(more["cells"]) == ["darts-v2", "darts-v2-1"]
    before, after = (own["rates"][0]["cells"]["darts-v2"]["trainings"][0] for own in (first, more))
    assert before == after
    assert json.loads(Path("out/convergence.json").read_text()) == {
        key: value for key, value in more.items() if key != "out"
    }


def test_only_some_of_the_family_and_the_others_later(data: str, capsys: Capture) -> None:
    base = ["darts-v2", "epochs=1", *TINY[1:], "--data", data, "--variants", "2"]
    some = found(capsys, *base, "--only", "darts-v2-2")
    assert some["out"] == "runs/convergence-darts-v2-few"
    assert list(some["cells"]) == ["darts-v2-2"]
    assert [path.name for path in Path(some["out"], "runs").iterdir()] == ["darts-v2-2-lr0.025-s0"]
    begun = Run.read(f"{some['out']}/runs/darts-v2-2-lr0.025-s0").environment()
    whole = found(capsys, *base)
    assert list(whole["cells"]) == ["darts-v2", "darts-v2-1", "darts-v2-2"]
    assert Run.read(f"{some['out']}/runs/darts-v2-2-lr0.025-s0").environment() == begun
    names = ["--only", "darts-v2", "darts-v2-1", *TINY[1:]]  # settings may stand behind them
    two = found(capsys, "darts-v2", "epochs=1", "--data", data, "--variants", "2", *names)
    assert list(two["cells"]) == ["darts-v2", "darts-v2-1"]
    assert "did you mean 'darts-v2-2'?" in complaint(capsys, *base, "--only", "darts-v2-3")


def trained(label: str) -> str:
    return str(Run.read(f"out/runs/{label}-lr0.025-s0").config["cell"])


def test_variants_are_those_of_the_library(data: str, capsys: Capture) -> None:
    flags = ["--variants", "1", "--kind", "connections", "--seed", "4", "--out", "out"]
    found(capsys, "snas", *TINY, "epochs=1", "--data", data, *flags)
    (wanted,) = random_connections(get_published("snas"), 1, seed=4)
    assert trained("snas-1") == GENOTYPE_FORMATS["json"].encode(wanted)


@pytest.mark.parametrize("space", [(), ("--space", "lean.json")])
def test_ops_of_variants_are_those_of_the_space(data: str, capsys: Capture, space: tuple[str, ...]) -> None:
    """Of the cell's own unless one is named, and the same that `analyse variants` draws."""
    lean = space_to_json(load_space("nb201")).replace(',"nor_conv_3x3","avg_pool_3x3"]', "]")
    Path("lean.json").write_text(lean)
    Path("mine.txt").write_text(NB201)
    flags = ["--kind", "operations", "--seed", "4", *space]
    words = [*TINY[:3], "epochs=1", "--data", data, "--out", "out"]
    found(capsys, "mine.txt", *words, *flags, "--variants", "1")
    assert main(["analyse", "variants", "mine.txt", *flags, "--count", "1", "--json"]) == 0
    (wanted,) = json.loads(capsys.readouterr().out)["variants"]
    assert json.loads(trained("mine-1")) == wanted["genotype"]
    ops = {op for edge in decode(trained("mine-1")).cells["cell"].edges for op in edge.ops}
    lean_ops = {"none", "skip_connect", "nor_conv_1x1"}  # what is no connection stays none
    assert ops <= (lean_ops if space else set(load_space("nb201").ops))


def test_the_widest_is_a_variant(data: str, capsys: Capture) -> None:
    words = [*TINY, "epochs=1", "--data", data, "--kind", "widest", "--out", "out"]
    assert list(found(capsys, "darts-v2", *words)["cells"]) == ["darts-v2", "darts-v2-widest"]
    assert trained("darts-v2-widest") == GENOTYPE_FORMATS["json"].encode(widest(get_published("darts-v2")))


def test_variants_that_are_called_like_a_cell_are_refused(capsys: Capture) -> None:
    Path("snas-1.txt").write_text(GENOTYPE_FORMATS["json"].encode(get_published("darts-v2")))
    words = ["snas", "snas-1.txt", "--variants", "1"]
    assert complaint(capsys, *words) == "two cells are called snas-1; name different ones"


def test_what_broke_off_is_said_and_not_tried_again(data: str, capsys: Capture) -> None:
    words = ["snas", *TINY, "--data", data, "--lr", "1e30", "--out", "out", "--quiet"]
    assert main(["analyse", "convergence", *words]) == 0
    said = capsys.readouterr().out
    assert "snas with seed 0 broke off: " in said
    begun = Run.read("out/runs/snas-lr1e+30-s0").environment()
    assert main(["analyse", "convergence", *words]) == 0
    assert capsys.readouterr().out == said
    assert Run.read("out/runs/snas-lr1e+30-s0").environment() == begun


def test_levels_and_settings_have_an_effect(data: str, capsys: Capture) -> None:
    base = ["darts-v2", "snas", *TINY, "--data", data]
    alone = found(capsys, *base, "--out", "one", "--loss", "100", "--accuracy", "0.0")
    cells = alone["rates"][0]["cells"]
    assert alone["rates"][0]["levels"] == {"loss": 100.0, "accuracy": 0.0}
    assert {own["epochs_to"]["loss"][0] for own in cells.values()} == {1.0}
    again = found(capsys, *base, "--out", "one", "--accuracy", "1.1")
    assert {own["epochs_to"]["accuracy"][0] for own in again["rates"][0]["cells"].values()} == {None}
    for label, own in again["rates"][0]["cells"].items():
        assert own["trainings"] == cells[label]["trainings"]
    other = found(capsys, *base, "weights.momentum=0.5", "--out", "three")
    assert other["rates"][0]["cells"]["snas"]["trainings"] != cells["snas"]["trainings"]


def test_typed_cells_and_files_have_labels_and_stacks_of_their_own(data: str, capsys: Capture) -> None:
    Path("mine.txt").write_text(NB201)
    cells = found(capsys, NB201, "mine.txt", *TINY[:3], "epochs=1", "--data", data, "--out", "out")["cells"]
    assert list(cells) == ["cell-1", "mine"]
    assert Run.read("out/runs/mine-lr0.025-s0").config["space"]["name"] == "nb201"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["darts-v3"], "did you mean 'darts-v2'?"),
        (["epochs=2"], "convergence needs a CELL"),
        (["snas", "./snas.txt"], "two cells are called snas"),
        (["snas", "--kind", "operations"], "--kind is of variants; say how many with --variants"),
        (["snas", "--seed", "3"], "--seed is of variants"),
        (["snas", "--kind", "widest", "--variants", "1"], "--variants says nothing about the widest"),
        (["snas", "--kind", "widest", "--seed", "1"], "--seed says nothing about the widest"),
        (["snas", "--loss", "nan"], "expected a number, got 'nan'"),
        (["snas", "--accuracy", "inf"], "expected a number, got 'inf'"),
        (["snas", "--variants", "0"], "whole number from 1"),
        (["snas", "--lr", "0.1,x"], "expected learning rates such as 0.0025,0.025, got '0.1,x'"),
        (["snas", "--lr", "0"], "expected learning rates"),
        (["snas", "--seeds", "2-1"], "expected seeds such as 0-9"),
        (["snas", "weights.lr=0.1"], "weights.lr=0.1: give that with --lr"),
        (["snas", "seed=1"], "seed=1: give that with --seeds"),
        (["snas", "data=digits"], "data=digits: give that with --data"),
        (["snas", "epoch=1"], "did you mean 'epochs'?"),
        (["snas", "--data", "no-such"], "no-such"),
        (["snas", "--device", "abacus"], "--device abacus cannot be used"),
        (["snas", "--space", "nb201"], "expects the cells"),
    ],
)
def test_mistakes_are_one_line(words: list[str], said: str, capsys: Capture) -> None:
    Path("snas.txt").write_text(GENOTYPE_FORMATS["json"].encode(get_published("snas")))
    assert said in complaint(capsys, *words)
    assert not Path("runs").exists()


def test_another_comparison_in_the_folder_is_refused(data: str, capsys: Capture) -> None:
    base = ["snas", *TINY, "--data", data, "--out", "out"]
    found(capsys, *base, "epochs=1")
    assert "epochs was 1, is 2; name another folder" in complaint(capsys, *base)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_signal_stops_it_and_says_how_to_go_on(data: str, program: Path, jobs: str) -> None:
    words = ["darts-v2", "snas", *TINY, "epochs=60", "--data", data, "--out", "out", "--jobs", jobs]
    command = [str(program), "analyse", "convergence", *words, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics, ends = Path("out/runs/darts-v2-lr0.025-s0/metrics.jsonl"), time.monotonic() + PATIENCE
    while not metrics.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert out == ""
    assert err.splitlines()[-1].endswith("; run the same command to resume")
    run = Run.read("out/runs/darts-v2-lr0.025-s0")
    assert run.state == "stopped"
    done = len(run.metrics())
    assert 0 < done < 60
