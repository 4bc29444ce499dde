from pathlib import Path

import pytest
import torch
import yaml

from dartboard.cli.main import main
from dartboard.search.recipes import RECIPES
from helpers import console
from helpers.json_page import check_keys


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTBOARD_SEARCH_EPOCHS", "1")
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)


@pytest.mark.usefixtures("_short")
def test_the_demo_is_a_search_with_the_quick_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--out", str(tmp_path / "run"), "--seed", "3"]) == 0
    assert "searching nano with gaea-darts-erm on digits" in capsys.readouterr().out
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert config["seed"] == 3
    assert config["batch"] == RECIPES["quick"]()["batch"]


@pytest.mark.usefixtures("_short")
def test_the_demo_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = console.json_output(capsys, "demo", "--out", tmp_path / "run")
    check_keys("search", facts)
    assert facts["run"] == str(tmp_path / "run")


@pytest.mark.usefixtures("_short")
def test_the_demo_writes_to_a_temporary_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["demo"]) == 0
    (run,) = tmp_path.iterdir()
    assert f"writing to {run}" in capsys.readouterr().out
