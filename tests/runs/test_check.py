"""What a check of run directories finds."""

import json
import os
from pathlib import Path

import pytest
import torch

from dartboard.cli.main import main
from dartboard.runs import Run
from dartboard.runs.check import STILL_WORKS, FileFault, check_folder, find_folders
from dartboard.utils import atomic
from dartboard.utils.checksums import CHECKSUMS, seal
from helpers import console

OLD = Path(__file__).parents[1] / "fixtures" / "runs-0.1" / "finished"
LEFTOVER = ".thing.0123456789abcdef.tmp"
Capture = pytest.CaptureFixture[str]


def make(path: Path, epochs: int = 2) -> Path:
    with Run.create(path, {"seed": 1}) as run:
        for epoch in range(epochs):
            run.record(epoch, {"loss": 0.5}, {"epoch": epoch})
            run.save(epoch + 1, {"weights": torch.zeros(3)})
        run.write("best.safetensors", b"weights")
        run.finish({"digest": "0"})
    return path


def test_a_good_run(tmp_path: Path) -> None:
    found = check_folder(make(tmp_path / "run"))
    assert found.verdict == "good"
    assert found.faults == found.unlisted == ()
    assert found.files == 2 + 1 + 2 + 1 + 1 + 2  # settings, metrics, epochs, result, network, checkpoints


@pytest.mark.parametrize("name", ["config.yaml", "metrics.jsonl", "best.safetensors", "result.json"])
def test_a_changed_file_is_named_with_what_works(tmp_path: Path, name: str, capsys: Capture) -> None:
    run = make(tmp_path / "run")
    data = bytearray((run / name).read_bytes())
    data[0] ^= 4
    (run / name).write_bytes(data)
    (fault,) = check_folder(run).faults
    reason = "does not have the checksum that it should: it was changed after it was written"
    assert fault == FileFault(name, reason, STILL_WORKS[name])
    assert main(["runs", "check", str(run)]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        f"{run}: damaged",
        f"  {name} {reason}",
        f"    works without it: {STILL_WORKS[name]}",
    ]


def test_a_damaged_checkpoint_is_named_with_the_one_before(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    newest = run / "checkpoints" / "step-0000000002"
    os.truncate(newest / "tensors.safetensors", 8)
    (fault,) = check_folder(run).faults
    assert fault.file == "checkpoints/step-0000000002"
    assert fault.works == "everything; resume with --fall-back, from step-0000000001"


def test_a_file_that_is_gone_is_missing(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    (run / "epochs" / "0001.json").unlink()
    (fault,) = check_folder(run).faults
    assert (fault.file, fault.reason) == ("epochs/0001.json", "is missing")


def test_epochs_that_the_run_went_back_before_are_not_missing(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    with Run.resume(run) as opened:
        opened.rewind(1)
    assert check_folder(run).verdict == "good"


def test_runs_of_earlier_versions_have_no_checksums(tmp_path: Path, capsys: Capture) -> None:
    old = console.json_output(capsys, "runs", "check", OLD / "darts")["runs"][0]
    assert (old["state"], old["faults"]) == ("good", [])  # its checkpoint has its own
    assert "config.yaml" in old["unlisted"]
    run = make(tmp_path / "run", epochs=0)
    (run / CHECKSUMS).unlink()
    assert main(["runs", "check", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{run}: no checksums\n"


def test_an_old_run_that_was_resumed_is_covered_in_part(tmp_path: Path) -> None:
    run = make(tmp_path / "run", epochs=1)
    (run / CHECKSUMS).unlink()
    with Run.resume(run) as opened:
        opened.record(1, {"loss": 0.4}, {"epoch": 1})
    found = check_folder(run)
    assert found.verdict == "good"
    assert set(found.unlisted) == {"config.yaml", "epochs/0000.json", "best.safetensors"}
    (run / "epochs" / "0000.json").write_text("{")
    assert check_folder(run).faults[0].reason.startswith("is not JSON")


def test_records_of_benches_are_checked(tmp_path: Path) -> None:
    (tmp_path / "bench.yaml").touch()
    (tmp_path / "records").mkdir()
    record = tmp_path / "records" / "darts-s0.json"
    record.write_text(seal('{"label":"darts"}'))
    assert check_folder(tmp_path).verdict == "good"
    record.write_text(record.read_text().replace("darts", "farts"))
    assert check_folder(tmp_path).faults[0].file == "records/darts-s0.json"


def test_a_tree_is_checked_with_all_that_is_inside(tmp_path: Path, capsys: Capture) -> None:
    make(tmp_path / "a")
    make(tmp_path / "sweep" / "stage" / "b")
    (tmp_path / "link").symlink_to(tmp_path / "sweep")
    assert list(find_folders(tmp_path)) == [tmp_path / "a", tmp_path / "sweep/stage/b"]
    assert main(["runs", "check", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    assert "no runs in" in console.error_line(capsys, "runs", "check", tmp_path / "a" / "epochs")
    assert "there is no folder" in console.error_line(capsys, "runs", "check", tmp_path / "none")


def test_a_line_that_was_changed_is_named(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    lines = (run / CHECKSUMS).read_text().splitlines(keepends=True)
    (run / CHECKSUMS).write_text("".join([*lines[:3], lines[3].replace("0", "1", 1), *lines[4:]]))
    assert [fault.file for fault in check_folder(run).faults if fault.file == CHECKSUMS]


def test_what_kills_have_left_is_removed_on_resume(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    places = [run / LEFTOVER, run / "epochs" / LEFTOVER, run / "checkpoints" / LEFTOVER]
    for place in places[:2]:
        place.touch()
    (places[2] / "inner").mkdir(parents=True)
    Run.resume(run).close()
    assert not any(place.exists() for place in places)


def test_what_others_may_be_writing_stays_for_an_hour(tmp_path: Path) -> None:
    (tmp_path / LEFTOVER).touch()
    atomic.remove_leftovers(tmp_path, older_than=atomic.SHARED)
    assert (tmp_path / LEFTOVER).exists()
    os.utime(tmp_path / LEFTOVER, (0, 0))
    atomic.remove_leftovers(tmp_path, older_than=atomic.SHARED)
    assert not (tmp_path / LEFTOVER).exists()
