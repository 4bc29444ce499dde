import json
import logging
from pathlib import Path

import pytest

from dartboard.integrations import mlflow as hooks
from dartboard.integrations.mlflow import MlflowHook
from dartboard.report import ReportHook
from dartboard.runs import Run
from dartboard.search.config import load_config, resolved
from dartboard.space import get_space
from helpers.search_cases import search

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # its own, about what it uses of others


def test_a_search_is_recorded_and_continued(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "MAX_PARAMS", 20)
    monkeypatch.setattr(hooks, "MAX_METRICS", 20)
    config = resolved(load_config(flags={"epochs": 2}))
    with Run.create(tmp_path / "run", config, space=get_space("nano")) as run:
        result = search(epochs=2, run=run, hooks=[ReportHook(), MlflowHook("mine", uri=store)]).fit()
        metrics = run.metrics()
    client = mlflow.MlflowClient(store)
    experiment = client.get_experiment_by_name("mine")
    (found,) = client.search_runs([experiment.experiment_id])
    run_id = found.info.run_id
    assert run_id == json.loads((tmp_path / "run" / "mlflow.json").read_text())["id"]
    assert (found.info.run_name, found.info.status, found.data.tags["kind"]) == ("run", "FINISHED", "search")
    assert found.data.params["method.name"] == "darts"
    assert len(found.data.params) > 20
    for name in ("train_loss", "entropy"):
        history = [(entry.step, entry.value) for entry in client.get_metric_history(run_id, name)]
        assert history == [(row["epoch"] + 1, row[name]) for row in metrics]
    assert found.data.metrics["cell/entropy"] == metrics[-1]["cells"]["cell"]["entropy"]
    assert found.data.metrics["result/valid_accuracy"] == result.valid_accuracy
    assert found.data.tags["result/digest"] == result.digest
    names = {entry.path for entry in client.list_artifacts(run_id)}
    files = {"config.yaml", "space.json", "result.json", "report.html", "chosen cell.png"}
    assert names == {*files, "cell", "genotype"}
    assert client.list_artifacts(run_id, "genotype")[0].path == "genotype/0001.json"

    with Run.resume(tmp_path / "run") as run:  # once more: nothing is recorded twice, but what has changed
        run.config["batch"] = 32
        search(epochs=2, run=run, hooks=[MlflowHook("mine", uri=store)]).fit()
    (again,) = client.search_runs([experiment.experiment_id])
    assert again.info.status == "FINISHED"
    assert [entry.step for entry in client.get_metric_history(run_id, "train_loss")] == [1, 2]
    assert len(client.get_metric_history(run_id, "result/entropy")) == 1
    assert (again.data.params["batch"], again.data.tags["batch"]) == (str(config["batch"]), "32")


def test_a_store_that_is_not_there_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    hook = MlflowHook("mine", uri="http://127.0.0.1:9")
    assert search(epochs=1, hooks=[hook]).fit().epochs == 1
    (warning,) = [
        record.getMessage()
        for record in caplog.records
        if record.levelno == logging.WARNING and record.name.startswith("dartboard")
    ]
    assert warning.startswith("MLflow records no more: ")
    assert "127.0.0.1" in warning
