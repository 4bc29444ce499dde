"""Searches and trainings in MLflow: settings, curves, cells, and the result with its files."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.integrations.tracker import Drawing, EpochLog, RunFile, RunStart, Session, TrackerHook

if TYPE_CHECKING:
    from mlflow import MlflowClient

STEP = "epoch"
"""A metric of every epoch, whose history says which epochs there are."""
MAX_PARAMS, MAX_METRICS = 100, 1000
"""Parameters and metrics that MLflow takes at once."""
MAX_TEXT = 500
"""Letters of a setting or a text that are recorded as a parameter or a tag; files have them in full."""
ENVIRONMENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "WARNING"}
"""Environment variables that are set unless the user has."""


class MlflowHook(TrackerHook):
    """Records loops in MLflow after every epoch; steps are complete epochs.

    The id of the MLflow run is kept as mlflow.json in the run directory: a loop that is resumed continues the
    same MLflow run and repeats no step. MLflow's own environment variables apply. Its usage reports are off
    unless `MLFLOW_DISABLE_TELEMETRY` is set.

    Args:
        experiment: Name of the experiment; created if it does not exist.
        run: The run that contains those of the loops, such as a protocol: a tag names it.
        uri: Where MLflow records, such as `sqlite:///mlflow.db`; None for what `MLFLOW_TRACKING_URI` says.

    Raises:
        OptionError: If MLflow is not installed, or the experiment has no name.
    """

    title = "MLflow"
    package = "mlflow"

    def __init__(self, experiment: str, run: str | Path | None = None, *, uri: str | None = None) -> None:
        super().__init__(run)
        self.check_place(experiment)
        self.experiment, self.uri = experiment, uri

    @classmethod
    def of_command(cls, place: str, run: Path) -> "MlflowHook":
        return cls(place, run)

    def open_session(self, start: RunStart) -> Session:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        from mlflow import MlflowClient

        client, file = MlflowClient(self.uri), RunFile.read(start.path, self.package)
        if file.id is not None:
            client.update_run(file.id, status="RUNNING")
            return MlflowSession(client, file, start)
        experiment = client.get_experiment_by_name(self.experiment)
        place = client.create_experiment(self.experiment) if experiment is None else experiment.experiment_id
        tags = {"kind": start.kind, **({} if start.group is None else {"group": start.group})}
        file.write(id=client.create_run(place, run_name=start.name, tags=tags).info.run_id)
        return MlflowSession(client, file, start)


class MlflowSession(Session):
    """A run of MLflow, new or continued."""

    def __init__(self, client: "MlflowClient", file: RunFile, start: RunStart) -> None:
        assert file.id is not None  # noqa: S101  # it is created before
        self._client, self._id, self._file = client, file.id, file
        self.epochs = max((entry.step for entry in client.get_metric_history(self._id, STEP)), default=0)
        self._log_settings(start.settings)
        if start.drawing is not None and not self.epochs:
            self._log_drawings(0, {"cell": start.drawing})

    def log_epoch(self, epoch: EpochLog) -> None:
        self._log_texts(epoch)
        self._log_drawings(epoch.step, epoch.drawings)
        self._log_metrics({**epoch.scalars, STEP: epoch.step}, epoch.step)  # the step last: it is complete
        self._file.write(epochs=epoch.step)

    def log_result(self, result: EpochLog) -> None:
        if self._file.result == result.texts["digest"]:
            return
        self._log_metrics({f"result/{name}": value for name, value in result.scalars.items()}, result.step)
        for name, text in result.texts.items():
            self._client.set_tag(self._id, f"result/{name}", text[:MAX_TEXT])
        for name, drawing in result.drawings.items():
            self._client.log_image(self._id, drawing, f"{name}.png")
        self._file.write(result=result.texts["digest"])

    def log_files(self, files: tuple[Path, ...]) -> None:
        for path in files:
            self._client.log_artifact(self._id, str(path))

    def close(self, *, finished: bool) -> None:
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")

    def _log_settings(self, settings: Mapping[str, Any]) -> None:
        """Settings are parameters, which never change in MLflow: a value that did since is a tag."""
        from mlflow.entities import Param

        known = self._client.get_run(self._id).data.params
        texts = {name: str(value)[:MAX_TEXT] for name, value in settings.items()}
        new = [Param(name, text) for name, text in texts.items() if name not in known]
        for first in range(0, len(new), MAX_PARAMS):
            self._client.log_batch(self._id, params=new[first : first + MAX_PARAMS])
        for name, text in texts.items():
            if known.get(name, text) != text:
                self._client.set_tag(self._id, name, text)

    def _log_metrics(self, values: Mapping[str, float], step: int) -> None:
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, step) for name, value in values.items()]
        for first in range(0, len(metrics), MAX_METRICS):
            self._client.log_batch(self._id, metrics=metrics[first : first + MAX_METRICS])

    def _log_texts(self, epoch: EpochLog) -> None:
        for name, text in epoch.texts.items():
            suffix = "json" if name == "genotype" else "txt"
            self._client.log_text(self._id, text, f"{name}/{epoch.step:04d}.{suffix}")

    def _log_drawings(self, step: int, drawings: Mapping[str, Drawing]) -> None:
        for name, drawing in drawings.items():
            self._client.log_image(self._id, drawing, f"{name}/{step:04d}.png")
