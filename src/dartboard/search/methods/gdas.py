"""GDAS (Dong & Yang 2019)."""

from typing import Annotated

from dartboard.arch.gradient import FirstOrder
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.hooks import Exploration, Temperature
from dartboard.search.method import METHODS, LegacyDefault, Method, Warmup
from dartboard.search.updates import AutoFloat, adam


@METHODS.register("gdas")
def gdas(
    *, bilevel: bool = True, joint: bool = False, lr: AutoFloat = "auto", weight_decay: float = 1e-3,
    start: float = 10.0, end: float = 0.1, explore: Annotated[AutoFloat, LegacyDefault(0.0)] = "auto",
    warmup: Annotated[Warmup, LegacyDefault(0)] = 1 / 3,
) -> Method:  # fmt: skip
    """GDAS: one op per edge runs, drawn by Gumbel noise that cools down (Dong & Yang 2019)."""
    parts = RELAXATIONS["gumbel-softmax"], FirstOrder(), adam(lr, weight_decay)
    hooks = Temperature(start, end), Exploration(explore)
    return Method(*parts, bilevel=bilevel, joint=joint, warmup=warmup, hooks=hooks)
