"""What the reproductions of ASM-NAS share: its space with fewer cells, and its searches."""

from typing import Any

from pydantic import Field

from dartboard.config.schema import Count
from dartboard.space.catalog import DARTS_OPS, darts_cell, stacked
from dartboard.space.spec import SearchSpace, Stack
from dartboard_papers.base import Scale


class SmallSearch(Scale):
    """How large the searches are."""

    seeds: Count = Field(default=5, description="searches of each kind")
    cells: Count = Field(default=3, ge=3, description="cells in the stack, none of which share anything")
    channels: Count = Field(default=4, description="channels of the first stage")
    epochs: Count = Field(default=6, description="passes over the training images")
    batch: Count = Field(default=32, description="examples in a step")
    lr: float = Field(default=0.1, gt=0, description="learning rate of the weights at the start")
    examples: Count = Field(default=256, description="held-out images that are looked at, at the most")
    pad: int = Field(default=0, ge=0, description="zeros around images, of which crops are taken")
    flip: bool = Field(default=False, description="flip images at random")
    images: str = Field(default="digits", description="what is told apart")


def asm_space(cells: int) -> SearchSpace:
    """ASM-NAS' space with another number of cells: 14 edges, 8 ops, nothing pruned, nothing shared."""
    return stacked(f"asm-{cells}", darts_cell(DARTS_OPS, keep=None), Stack(cells=cells, shared=False))


def settings(scale: SmallSearch, space: str, data: str | None, seed: int) -> dict[str, Any]:
    """What all searches have in common; half the images are held out, as in the paper."""
    return {
        "space": space,
        "data": {"name": data or scale.images, "valid": 0.5, "pad": scale.pad, "flip": scale.flip},
        "net": {"channels": scale.channels},
        "weights": {"lr": scale.lr, "lr_end": 0.0},
        "epochs": scale.epochs,
        "batch": scale.batch,
        "seed": seed,
        "health": {"examples": scale.examples, "discrete": False},
    }


def size(scale: SmallSearch, data: str | None) -> str:
    """In words, how large the searches are."""
    return (
        f"{scale.cells} cells, {scale.channels} channels, {data or scale.images}, {scale.epochs} epochs, "
        f"batches of {scale.batch}, {scale.examples} held-out images"
    )
