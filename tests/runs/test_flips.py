"""One byte of a run is changed, anywhere: `dartboard runs check` names the file, and no reader trusts it.

Free to change are only files that no command trusts: `FREE`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import torch

from dartboard.cli.main import main
from dartboard.errors import DartboardError
from dartboard.nn.model_file import load_model
from dartboard.runs import RunReader, load_checkpoint
from dartboard.runs.check import check_folder, find_folders
from dartboard.runs.text_files import read_object
from dartboard.scoreboard.records import BenchRecord
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.results import read_results
from dartboard.sweep.sweep import read_sweep
from helpers.doc_pages import load_script

FREE = {
    "lock": "who holds it, for a message alone",
    "report.html": "for people, and written anew by dartboard report",
    "table.md": "for people, and written anew by dartboard bench",
    "table.csv": "for people, and written anew by dartboard bench",
    "table.json": "for people, and written anew by dartboard bench",
    "convergence.json": "for people, and written anew by dartboard analyse convergence",
}
PICTURES = (".svg", ".png")
IMAGES = "images"
"""A folder of fingerprints, each compared with that of the images themselves whenever they are loaded."""
SEED = 17
CONVERGENCE = (
    *("analyse", "convergence", "|skip_connect~0|+|nor_conv_3x3~0|none~1|", "--space", "nano", "--data"),
    *("digits", "epochs=2", "net.channels=2", "net.auxiliary=0", "batch=64"),
)


def make(kind: str) -> Path:
    """A finished run of a kind, in the working directory."""
    script = load_script("make_old_runs")
    Path("sweep.yaml").write_text(script.SWEEP)
    if kind == "convergence":
        assert main([*CONVERGENCE, "--out", kind]) == 0
        return Path(kind)
    if kind == "train":
        make("asm")
    fixture = next(run for run in script.RUNS if run.name == kind)
    words = [word.replace("../finished/", "").replace("../", "") for word in fixture.command()]
    assert main([*words, "--quiet"]) == 0
    return Path(kind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    before, threads = Path.cwd(), torch.get_num_threads()
    path = tmp_path_factory.mktemp("flips")
    os.chdir(path)
    yield path
    os.chdir(before)
    torch.set_num_threads(threads)


def trusted_files(run: Path) -> list[Path]:
    """The files of a run that something reads."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and path.suffix not in PICTURES)
    return [path for path in files if path.name not in FREE and path.parent.name != IMAGES]


def read_again(path: Path) -> None:
    """Reads a file as commands do; raises DartboardError if it is not as it was written."""
    owner = next(folder for folder in path.parents if (folder / "lock").exists() or folder.name == "records")
    match path.name:
        case "config.yaml" | "environment.json" | "result.json" | "space.json" | "metrics.jsonl":
            run = RunReader.read(owner)
            _ = run.environment(), run.result(), run.space(), run.metrics()
        case "best.safetensors" | "last.safetensors":
            load_model(path, root=owner)
        case "state.json" | "tensors.safetensors":
            load_checkpoint(path.parent)
        case "decisions.json":
            DecisionLog(owner)
        case "sweep.yaml":
            read_sweep(owner)
        case "results.jsonl":
            read_results(owner)
        case "plan.json" | "comparison.json":
            read_object(path)
        case _ if path.parent.name == "epochs":
            RunReader.read(owner).epoch(int(path.stem))
        case _ if path.parent.name == "records":
            BenchRecord.read(path)
        case _:  # nobody trusts logs, tables and checksums themselves
            raise DartboardError


def count_unnoticed(run: Path, flips: int) -> tuple[int, list[str]]:
    """Flips bytes in the files of a run, one at a time; how many, and which went unnoticed."""
    random, files, missed = Random(SEED), trusted_files(run), []
    assert all(check.verdict == "good" for check in map(check_folder, find_folders(run)))
    assert main(["runs", "check", str(run)]) == 0
    for number in range(max(flips, len(files))):
        path = files[number % len(files)]
        whole = path.read_bytes()
        changed, position = bytearray(whole), random.randrange(len(whole))
        changed[position] ^= random.randrange(1, 256)
        path.write_bytes(changed)
        owner = next(folder for folder in [*path.parents] if any(folder == one for one in find_folders(run)))
        if not check_folder(owner).faults:
            missed.append(f"{path}, byte {position}: not noticed by runs check")
        try:
            read_again(path)
            missed.append(f"{path}, byte {position}: not noticed by its reader")
        except DartboardError:
            pass
        path.write_bytes(whole)
    return max(flips, len(files)), missed


@pytest.mark.usefixtures("folder")
def test_no_changed_byte_of_a_search_goes_unnoticed(capsys: pytest.CaptureFixture[str]) -> None:
    run = make("darts")
    (flips, missed), _ = count_unnoticed(run, 40), capsys.readouterr()
    assert flips >= 40
    assert missed == []
    epoch = run / "epochs" / "0001.json"
    epoch.write_text(epoch.read_text().replace("0.", "1.", 1))
    assert main(["runs", "check", "darts", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert found["state"] == "damaged"
    assert [fault["file"] for fault in found["faults"]] == ["epochs/0001.json"]
    assert main(["report", "darts", "--out", "page.html"]) == 2
    assert "epochs/0001.json does not have the checksum" in capsys.readouterr().err
    assert not Path("page.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gdas", "train", "sweep", "protocol", "bench", "convergence"])
@pytest.mark.usefixtures("folder")
def test_no_changed_byte_of_any_kind_of_run_goes_unnoticed(kind: str) -> None:
    flips, missed = count_unnoticed(make(kind), 100)
    assert flips >= 100
    assert missed == []
