import json
import re
from pathlib import Path

import pytest

from dartboard.cli.main import main
from dartboard.cli.runs.compare import differences
from helpers.report_runs import found_cell, make_search, make_training

pytestmark = pytest.mark.usefixtures("own_folder")
Said = pytest.CaptureFixture[str]


def test_only_settings_that_differ_are_shown(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "a", seed=1, weights={"lr": 0.3})
    make_search(tmp_path / "b", method="darts", finish=False)
    assert main(["runs", "compare", "a", "b"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^state +finished +stopped$", out, re.MULTILINE)
    assert re.search(r"^accuracy +69.00% +70.00%$", out, re.MULTILINE)
    assert re.search(r"^method.name +gaea-darts +darts$", out, re.MULTILINE)
    assert re.search(r"^weights.lr +0.3 +0\.\d+$", out, re.MULTILINE)
    assert re.search(r"^time +12 s +-$", out, re.MULTILINE)
    assert "batch" not in out
    assert re.search(r"^a: cell +b: cell$", out, re.MULTILINE)


def test_cells_that_are_the_same_are_drawn_once(tmp_path: Path, capsys: Said) -> None:
    cell = found_cell(make_search(tmp_path / "s"))
    for seed in range(2):
        make_training(tmp_path / f"t{seed}", cell, seed=seed)
    assert main(["runs", "compare", "t0", "t1"]) == 0
    out = capsys.readouterr().out
    assert out.count("the same in both: cell") == 1
    assert re.search(r"^parameters +12,345 +12,345$", out, re.MULTILINE)


def test_json(tmp_path: Path, capsys: Said) -> None:
    for seed in range(3):
        make_search(tmp_path / f"s{seed}", seed=seed)
    assert main(["runs", "compare", "s0", "s1", "s2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {"seed": [0, 1, 2]}
    assert [own["path"] for own in found["runs"]] == ["s0", "s1", "s2"]
    assert all(own["genotype"] for own in found["runs"])


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_run_is_compared_as_far_as_it_goes(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "a")
    make_search(tmp_path / "b", seed=1)
    (tmp_path / "b" / "result.json").write_text("{")
    assert main(["runs", "compare", "a", "b"]) == 0
    assert re.search(r"^state +finished +damaged$", capsys.readouterr().out, re.MULTILINE)


def test_a_setting_that_one_has_not_differs() -> None:
    assert differences([{"a": {"b": 1}, "c": 2}, {"c": 2}]) == {"a.b": [1, None]}
    assert differences([{"a": 1}, {"a": 1}, {"a": 2}]) == {"a": [1, 1, 2]}
