import json
import re
from pathlib import Path

import pytest
import yaml

from dartboard.cli.main import main
from dartboard.runs import Lock
from helpers.report_runs import found_cell, make_search, make_training

pytestmark = pytest.mark.usefixtures("own_folder")
Said = pytest.CaptureFixture[str]


def test_a_search_is_described_and_drawn(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "s", epochs=8, warning="all is lost")
    assert main(["runs", "show", "s"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^state +finished, last changed ", out, re.MULTILINE)
    assert re.search(r"^method +gaea-darts$", out, re.MULTILINE)
    assert re.search(r"^weights +lr 0\.\d+, lr_end", out, re.MULTILINE)
    assert "epoch 4 of 8  loss 1.550" in out
    assert "epoch 3 of 8" not in out
    assert re.search(r"^accuracy +70.00%; 50.00% with the cell alone$", out, re.MULTILINE)
    assert re.search(r"^warning +all is lost$", out, re.MULTILINE)
    assert "▸ out" in out
    assert "dartboard train s --recipe quick" in out


def test_what_to_do_next_depends_on_the_state(tmp_path: Path, capsys: Said) -> None:
    cell = found_cell(make_search(tmp_path / "s"))
    make_training(tmp_path / "a b", cell, finish=False)
    assert main(["runs", "show", "a b"]) == 0
    assert "dartboard train --resume 'a b'" in capsys.readouterr().out
    with Lock(tmp_path / "a b"):
        assert main(["runs", "show", "a b"]) == 0
    assert "dartboard runs tail 'a b' --follow" in capsys.readouterr().out
    make_training(tmp_path / "t", cell)
    assert main(["runs", "show", "t"]) == 0
    assert "dartboard export t --format onnx" in capsys.readouterr().out


@pytest.mark.usefixtures("without_checksums")
def test_plugins_that_a_run_needs_are_named(tmp_path: Path, capsys: Said) -> None:
    run = make_search(tmp_path / "s")
    config = yaml.safe_load((run.path / "config.yaml").read_text())
    for plugins, words in ((["a b.py"], " --plugin 'a b.py'"), (3, "")):
        (run.path / "config.yaml").write_text(yaml.safe_dump(config | {"plugins": plugins}))
        assert main(["runs", "show", "s"]) == 0
        assert f"dartboard train s --recipe quick{words}\n" in capsys.readouterr().out


def test_json(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "s", seed=4)
    assert main(["runs", "show", "s", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["seed"], found["config"]["seed"]) == (4, 4)
    assert list(found["genotype"]) == ["cell"]
    assert found["next"][0].startswith("dartboard train s")


def test_a_run_without_an_epoch_has_no_cell_yet(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "s", epochs=0, finish=False)
    assert main(["runs", "show", "s"]) == 0
    out = capsys.readouterr().out
    assert "▸ out" not in out
    assert "dartboard search --resume s" in out


@pytest.mark.parametrize("name", ["metrics.jsonl", "result.json"])
@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_run_says_what_is_wrong(tmp_path: Path, capsys: Said, name: str) -> None:
    make_search(tmp_path / "s")
    (tmp_path / "s" / name).write_text('{"a')
    assert main(["runs", "show", "s"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"^damaged +s/{name}.* is not JSON", out, re.MULTILINE)
    assert "dartboard runs rm s" in out
