import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dartboard.integrations import tracker


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trackers are waited for, however busy the machine is."""
    monkeypatch.setattr(tracker, "CLOSE_SECONDS", 300.0)


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that W&B writes to, without a network and without the settings of whoever runs the tests."""
    for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR", "ARTIFACT_DIR"):
        (tmp_path / "wandb-files" / name).mkdir(parents=True)
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / "wandb-files" / name))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    yield tmp_path / "wandb-files" / "DIR"
    if "wandb" in sys.modules:
        sys.modules["wandb"].teardown()  # it reads its environment once


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an MLflow store in a database."""
    monkeypatch.chdir(tmp_path)  # where MLflow puts files
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    return uri
