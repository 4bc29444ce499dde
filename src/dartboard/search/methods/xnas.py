"""XNAS (Nayman et al. 2019)."""

from dartboard.arch.gradient import ClippedRewards
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.hooks import Wipeout
from dartboard.search.method import METHODS, Method
from dartboard.search.updates import expert_advice


@METHODS.register("xnas")
def xnas(
    *, bilevel: bool = True, joint: bool = False, bound: float = 1.0, zeta: float = 1.0,
    lr: float | None = None,
) -> Method:  # fmt: skip
    """XNAS: ops are experts, rewarded for each example, dropped when they cannot win (Nayman et al. 2019)."""
    parts = RELAXATIONS["simplex"], ClippedRewards(bound), expert_advice(bound, zeta, lr)
    return Method(*parts, bilevel=bilevel, joint=joint, hooks=(Wipeout(),))
