"""How the GAEA paper searches with each method, and the same with fewer images, epochs and cells.

A search of a laptop takes fewer steps, so its architecture needs a larger rate to get as far: Adam's is
multiplied by how many times fewer steps there are, that of exponentiated gradient, which feels the size of
the gradient, also by how many times fewer cells add up theirs. With the paper's own numbers both factors
are 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HALF, WHOLE = 25_000, 50_000
"""Images of CIFAR-10 that weights are trained with: half of them on two levels, all on one."""
NB201_CELLS, ONESHOT_CELLS = 15, 9
"""Cells of the paper's supernets that share their decisions."""


@dataclass(frozen=True)
class Way:
    """How the paper searches with a method.

    Args:
        title: What its tables call it.
        rate: Of the architecture; None where the method has a rule of its own, or none.
        epochs: Passes over the images.
        method: What is set besides the rate.
        images: That the weights are trained with.
        cells: That share their decisions.
        multiplies: Whether the architecture moves by exponentiated gradient.
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
        """The rate for a search of another size, to three digits."""
        if self.rate is None:
            return None
        fewer = self.images * self.epochs / (images * epochs)
        return float(f"{self.rate * fewer * (self.cells / cells if self.multiplies else 1):.3g}")

    @property
    def bilevel(self) -> bool:
        """Whether the architecture has images of its own."""
        return self.images == HALF


ADAM, PARTIAL, MULTIPLIED = 3e-4, 6e-4, 0.1
"""The paper's rates: DARTS' and GDAS' own, PC-DARTS' own, that of all GAEA."""
JOINT = {"joint": True}
BARE = ("none",)

WAYS = {
    "random-ws": Way("RSPS", None, 25),
    "darts": Way("DARTS (bilevel)", ADAM, 25, without=BARE),
    "gaea-darts": Way("GAEA DARTS (bilevel)", MULTIPLIED, 25, multiplies=True, without=BARE),
    "darts-erm": Way(
        "DARTS (ERM)", ADAM, 25, {"name": "darts", "bilevel": False, **JOINT}, WHOLE, without=BARE
    ),
    "gaea-darts-erm": Way("GAEA DARTS (ERM)", MULTIPLIED, 25, JOINT, WHOLE, multiplies=True, without=BARE),
    "gdas": Way("GDAS", ADAM, 250),
    "gaea-gdas": Way("GAEA GDAS", MULTIPLIED, 150, multiplies=True),
    "xnas": Way("XNAS", None, 25, without=BARE),
    "pc-darts": Way("PC-DARTS", PARTIAL, 50, cells=ONESHOT_CELLS),
    "gaea-pc-darts": Way("GAEA PC-DARTS", MULTIPLIED, 50, cells=ONESHOT_CELLS, multiplies=True),
}
"""By label; the paper leaves `none` out of NAS-Bench-201 where it searches with DARTS or XNAS."""
