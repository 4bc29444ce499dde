"""GDAS (Dong & Yang 2019)."""

from dartboard.arch.gradient import FirstOrder
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.hooks import Temperature
from dartboard.search.method import METHODS, Method
from dartboard.search.updates import adam


@METHODS.register("gdas")
def gdas(
    *, bilevel: bool = True, joint: bool = False, lr: float = 3e-4, weight_decay: float = 1e-3,
    start: float = 10.0, end: float = 0.1,
) -> Method:  # fmt: skip
    """GDAS: one op per edge runs, drawn by Gumbel noise that cools down (Dong & Yang 2019)."""
    parts = RELAXATIONS["gumbel-softmax"], FirstOrder(), adam(lr, weight_decay)
    return Method(*parts, bilevel=bilevel, joint=joint, hooks=(Temperature(start, end),))
