"""Shared parts of the reproductions of theorems 4.2 and 4.3: random linear cells."""

from typing import Annotated

from pydantic import Field

from dartboard.config.schema import Count, Seed
from dartboard_papers.base import RunOptions, Scale
from dartboard_papers.theory.linear_problems import Survey, survey

Above = Annotated[float, Field(gt=0)]
"""A number above 0."""


class Cells(Scale):
    """Random linear cells."""

    lengths: tuple[Above, ...] = Field(
        default=(0.5, 1.0, 1.5, 2.0, 3.0), min_length=1, description="2-norms of the weights"
    )
    problems: Count = Field(default=40, description="random problems for each norm")
    nodes: Count = Field(default=4, description="nodes of a cell")
    size: Count = Field(default=4, description="entries of a node")
    examples: Count = Field(default=32, description="examples, over which means are exact")
    seed: Seed = Field(default=0, description="random seed of the first problem")

    def words(self) -> str:
        """Description of the size."""
        cells = f"{self.nodes} nodes of {self.size} entries, {self.examples} examples"
        return f"{cells}, {self.problems} problems for each of {len(self.lengths)} norms"


def survey_cells(options: RunOptions, scale: Cells, loss: str) -> Survey:
    """Measurements of the random cells with a loss."""
    return survey(
        scale.lengths,
        problems=scale.problems,
        nodes=scale.nodes,
        size=scale.size,
        examples=scale.examples,
        loss=loss,
        seed=scale.seed,
        tell=options.tell,
    )
