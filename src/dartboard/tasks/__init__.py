"""What a network learns: the loss of its outputs, and how well they fit."""

from dartboard.tasks.classification import TOP, Classification, Evaluation, Task, measure

__all__ = ["TOP", "Classification", "Evaluation", "Task", "measure"]
