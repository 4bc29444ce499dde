"""Settings of the GAEA paper for each method, and how they scale to fewer images, epochs and cells.

A search on a laptop takes fewer steps, so its architecture needs a larger learning rate: Adam's is
multiplied by the ratio of steps; that of exponentiated gradient, which depends on the size of
the gradient, also by the ratio of cells that contribute to it. With the paper's own numbers both factors
are 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HALF, FULL = 25_000, 50_000
"""Images of CIFAR-10 that weights are trained with: half of them if bilevel, else all."""
NB201_CELLS, ONESHOT_CELLS = 15, 9
"""Cells of the paper's supernets that share their decisions."""


@dataclass(frozen=True)
class MethodSettings:
    """Settings of the paper for a method.

    Args:
        title: Name in the paper's tables.
        rate: Learning rate of the architecture; None if the method sets its own, or has none.
        epochs: Passes over the images.
        method: Options of the method besides the rate.
        images: Number of images that the weights are trained with.
        cells: Number of cells that share their decisions.
        multiplies: True if the architecture is updated by exponentiated gradient.
        without: Ops that are left out of the space.
    """

    title: str
    rate: float | None
    epochs: int
    method: Mapping[str, Any] = field(default_factory=dict)
    images: int = HALF
    cells: int = NB201_CELLS
    multiplies: bool = False
    without: tuple[str, ...] = ()

    def scaled(self, images: int, epochs: int, cells: int) -> float | None:
        """Learning rate for a search of another size, to three digits."""
        if self.rate is None:
            return None
        fewer = self.images * self.epochs / (images * epochs)
        return float(f"{self.rate * fewer * (self.cells / cells if self.multiplies else 1):.3g}")

    @property
    def bilevel(self) -> bool:
        """True if the architecture has images of its own."""
        return self.images == HALF


ADAM, PARTIAL, MULTIPLIED = 3e-4, 6e-4, 0.1
"""The paper's learning rates: of DARTS and GDAS, of PC-DARTS, of all GAEA variants."""
JOINT = {"joint": True}
BARE = ("none",)

METHOD_SETTINGS = {
    "random-ws": MethodSettings("RSPS", None, 25),
    "darts": MethodSettings("DARTS (bilevel)", ADAM, 25, without=BARE),
    "gaea-darts": MethodSettings("GAEA DARTS (bilevel)", MULTIPLIED, 25, multiplies=True, without=BARE),
    "darts-erm": MethodSettings(
        "DARTS (ERM)", ADAM, 25, {"name": "darts", "bilevel": False, **JOINT}, FULL, without=BARE
    ),
    "gaea-darts-erm": MethodSettings(
        "GAEA DARTS (ERM)", MULTIPLIED, 25, JOINT, FULL, multiplies=True, without=BARE
    ),
    "gdas": MethodSettings("GDAS", ADAM, 250),
    "gaea-gdas": MethodSettings("GAEA GDAS", MULTIPLIED, 150, multiplies=True),
    "xnas": MethodSettings("XNAS", None, 25, without=BARE),
    "pc-darts": MethodSettings("PC-DARTS", PARTIAL, 50, cells=ONESHOT_CELLS),
    "gaea-pc-darts": MethodSettings("GAEA PC-DARTS", MULTIPLIED, 50, cells=ONESHOT_CELLS, multiplies=True),
}
"""Settings by label; the paper leaves `none` out of NAS-Bench-201 where it searches with DARTS or XNAS."""
