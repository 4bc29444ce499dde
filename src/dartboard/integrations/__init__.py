"""Trackers that record runs for other tools to show: TensorBoard, Weights & Biases, MLflow."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dartboard.integrations.tracker import TrackerHook


@dataclass(frozen=True)
class TrackerFlag:
    """How commands offer a tracker.

    Args:
        metavar: What the value of its flag is.
        about: What it does, for the help of commands.
        module: The module of its hook.
        name: The class of its hook.
    """

    metavar: str
    about: str
    module: str
    name: str

    def hook(self) -> "type[TrackerHook]":
        """The class of its hook; imports torch, but not the tracker's package."""
        hook: type[TrackerHook] = getattr(import_module(f"dartboard.integrations.{self.module}"), self.name)
        return hook


TRACKERS = {
    "tensorboard": TrackerFlag(
        "DIR",
        "write curves, strengths and cells for TensorBoard to a folder in DIR, named after the run",
        "tensorboard",
        "TensorBoardHook",
    ),
    "wandb": TrackerFlag(
        "PROJECT",
        "record the run in a project of Weights & Biases, as PROJECT or TEAM/PROJECT",
        "wandb",
        "WandbHook",
    ),
    "mlflow": TrackerFlag(
        "EXPERIMENT",
        "record the run in an experiment of MLflow, where MLFLOW_TRACKING_URI says",
        "mlflow",
        "MlflowHook",
    ),
}
"""All trackers by the name of their flag and of the extra that installs them."""
