"""Training what was found: recipes, the loop, and the protocol of many seeds."""

from dartboard.train.config import TrainOptions
from dartboard.train.evaluation import evaluate
from dartboard.train.recipes import RECIPES
from dartboard.train.record import TrainRecord, TrainResult
from dartboard.train.trainer import Trainer, TrainHook

__all__ = ["RECIPES", "TrainHook", "TrainOptions", "TrainRecord", "TrainResult", "Trainer", "evaluate"]
