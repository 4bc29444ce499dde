"""A search that is recorded by W&B and MLflow, killed, and resumed in another process."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dartboard.integrations.mlflow import MlflowHook
from dartboard.integrations.wandb import WandbHook
from dartboard.integrations.wandb_files import read_records
from dartboard.runs import Run
from helpers.search_cases import search

pytest.importorskip("wandb", reason="wandb is not installed")
mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # those of MLflow

KILLED = '''
import json, os, signal, sys, time
from pathlib import Path

from dartboard.integrations.mlflow import MlflowHook
from dartboard.integrations.wandb import WandbHook
from dartboard.runs import Run
from dartboard.search import Hook
from helpers.search_cases import search

folder = Path(sys.argv[1])


class Kill(Hook):
    """Kills the process after an epoch that is recorded, and before its checkpoint."""

    def on_epoch_end(self, searcher, record):
        files = [folder / "wandb.json", folder / "mlflow.json"]
        while record.epoch == 1:
            if all(file.exists() and json.loads(file.read_text())["epochs"] == 2 for file in files):
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.01)


with Run.create(folder, {}) as run:
    search(epochs=3, run=run, hooks=[WandbHook("project"), MlflowHook("mine"), Kill()]).fit()
'''


def test_a_killed_search_continues_the_same_records_and_repeats_no_step(
    offline: Path, store: str, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(Run.read(path).metrics()) == 2
    with Run.resume(path) as run:
        search(epochs=3, run=run, hooks=[WandbHook("project"), MlflowHook("mine")]).fit()

    client = mlflow.MlflowClient(store)
    (found,) = client.search_runs([client.get_experiment_by_name("mine").experiment_id])
    assert found.info.status == "FINISHED"
    assert [entry.step for entry in client.get_metric_history(found.info.run_id, "train_loss")] == [1, 2, 3]

    records = [record for file in offline.rglob("*.wandb") for record in read_records(file)]
    ids = {record.run.run_id for record in records if record.HasField("run")}
    assert ids == {json.loads((path / "wandb.json").read_text())["id"]}
    rows = [record.history.item for record in records if record.HasField("history")]
    steps = [item.value_json for row in rows for item in row if [*item.nested_key] == ["_step"]]
    assert sorted(steps) == ["1", "2", "3"]
