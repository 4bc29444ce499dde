import json
import logging
from pathlib import Path
from typing import Any

import pytest

from dartboard.cli.main import MISTAKE, main
from dartboard.errors import OptionError
from dartboard.integrations.wandb import WandbHook
from dartboard.integrations.wandb_files import read_records
from dartboard.report import ReportHook
from dartboard.runs import Run
from dartboard.search.config import load_config, resolved
from dartboard.space import get_space
from helpers.search_cases import search

pytest.importorskip("wandb", reason="wandb is not installed")


def written(folder: Path) -> list[Any]:
    """All records in a folder, oldest file first."""
    files = sorted(folder.rglob("run-*.wandb"), key=lambda path: path.stat().st_ctime_ns)
    return [record for path in files for record in read_records(path)]


def values(items: Any) -> dict[str, Any]:
    """Items of a record by name, nested ones as name.name."""
    return {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}


def history(records: list[Any]) -> list[dict[str, Any]]:
    """What was logged, step by step."""
    return [values(record.history.item) for record in records if record.HasField("history")]


def test_a_search_is_recorded_offline(offline: Path, tmp_path: Path) -> None:
    config = resolved(load_config(flags={"epochs": 2}))
    with Run.create(tmp_path / "run", config, space=get_space("nano")) as run:
        hooks = [ReportHook(), WandbHook("team/project")]
        result = search(epochs=2, run=run, hooks=hooks).fit()
        metrics = run.metrics()
    records = written(offline)
    (start,) = [record.run for record in records if record.HasField("run")]
    assert (start.entity, start.project, start.display_name) == ("team", "project", "run")
    assert start.run_id == json.loads((tmp_path / "run" / "wandb.json").read_text())["id"]
    settings: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    for record in records:
        settings |= values(record.config.update)
        summary |= values(record.summary.update)
    assert settings["method.name"] == "darts"
    assert settings["epochs"] == 2
    rows = [row for row in history(records) if "train_loss" in row]
    assert [row["epoch"] for row in rows] == [row["_step"] for row in rows] == [1, 2]
    for row, metric in zip(rows, metrics, strict=True):
        assert (row["train_loss"], row["entropy"]) == (metric["train_loss"], metric["entropy"])
        assert row["strengths/cell._type"] == "histogram"
    assert rows[0]["cell._type"] == "image-file"
    assert "edges" in rows[0]["genotype"]
    assert summary["result/digest"] == result.digest
    assert summary["chosen cell"]["_type"] == "image-file"
    assert summary["result/valid_accuracy"] == result.valid_accuracy
    (artifact,) = [record.artifact for record in records if record.HasField("artifact")]
    names = {entry.path for entry in artifact.manifest.contents}
    assert {"config.yaml", "space.json", "result.json", "report.html", "chosen cell.png"} == names
    (end,) = [record.exit for record in records if record.HasField("exit")]
    assert end.exit_code == 0


def test_a_run_that_is_done_again_is_recorded_once(offline: Path, tmp_path: Path) -> None:
    for open_run in (lambda path: Run.create(path, {}), Run.resume):
        with open_run(tmp_path / "run") as run:
            search(epochs=1, run=run, hooks=[WandbHook("project")]).fit()
    records = written(offline)
    assert len({record.run.run_id for record in records if record.HasField("run")}) == 1
    assert [row["_step"] for row in history(records) if "train_loss" in row] == [1]


def test_without_a_key_nobody_is_asked_for_one(
    offline: Path,  # noqa: ARG001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("HOME", str(tmp_path))  # where a key may be
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert search(epochs=1, hooks=[WandbHook("project")]).fit().epochs == 1
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "Weights & Biases records no more: there is no API key; run wandb login, or set WANDB_MODE=offline"
    ]


@pytest.mark.parametrize("name", ["", " ", "a/b/c", "team/", "a:b", "50%"])
def test_names_that_are_no_project_are_refused(name: str) -> None:
    with pytest.raises(
        OptionError, match=r"has no name|is no name of a project: write PROJECT or TEAM/PROJECT"
    ):
        WandbHook(name)


def test_a_step_that_w_and_b_lost_is_recorded_again(offline: Path, tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        search(epochs=2, run=run, hooks=[WandbHook("project")]).fit()
    (file,) = offline.rglob("run-*.wandb")
    file.write_bytes(file.read_bytes()[:7])  # what a kill leaves of the first block
    with Run.resume(tmp_path / "run") as run:
        search(epochs=2, run=run, hooks=[WandbHook("project")]).fit()
    assert [row["_step"] for row in history(written(offline)) if "train_loss" in row] == [1, 2]


def test_the_flag_of_a_command_records_its_run(
    offline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["net.channels=2", "data.workers=0", "health.examples=16", "--threads", "1", "--epochs", "1"]
    assert main(["search", "--out", "a", "--wandb", "project", "--json", *words]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["epochs"] == 1
    assert printed.err == ""
    (artifact,) = [record.artifact for record in written(offline) if record.HasField("artifact")]
    assert "report.html" in {entry.path for entry in artifact.manifest.contents}
    assert main(["search", "--out", "b", "--wandb", "a/b/c", *words]) == MISTAKE
    assert "--wandb a/b/c is no name of a project" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
