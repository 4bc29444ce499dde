"""What a network learns: the loss of its outputs, and how well they fit."""

from dartboard.tasks.classification import Classification, Task
from dartboard.tasks.evaluation import TOP, Evaluation, measure

__all__ = ["TOP", "Classification", "Evaluation", "Task", "measure"]
