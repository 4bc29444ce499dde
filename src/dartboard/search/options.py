"""Settings of a search but its space, its method and its images; every default is first-order DARTS' own."""

from pydantic import Field

from dartboard.config.schema import Options
from dartboard.engine.options import LoopOptions


class HealthOptions(Options):
    """What is measured after every epoch."""

    examples: int = Field(default=2000, ge=1, description="at most so many held-out images are looked at")
    discrete: bool = Field(default=True, description="accuracy of the supernet with the current choice alone")
    hessian: bool = Field(default=False, description="largest eigenvalue of the loss in the architecture")


class SearchOptions(LoopOptions):
    """Everything about a search but its space, its method and its images."""

    health: HealthOptions = HealthOptions()
