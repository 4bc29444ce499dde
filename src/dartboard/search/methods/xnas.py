"""XNAS (Nayman et al. 2019)."""

from dartboard.arch.gradient import ClippedRewards
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.hooks import Wipeout
from dartboard.search.method import METHODS, Method
from dartboard.search.updates import AutoFloat, expert_advice


@METHODS.register("xnas")
def xnas(
    *, bilevel: bool = True, joint: bool = False, bound: AutoFloat = "auto", zeta: float = 1.0,
    lr: AutoFloat | None = "auto",
) -> Method:  # fmt: skip
    """XNAS: ops are experts, rewarded for each example, dropped when they cannot win (Nayman et al. 2019)."""
    limit, rate = None if bound == "auto" else bound, "auto" if lr is None else lr  # null in runs of before
    parts = RELAXATIONS["simplex"], ClippedRewards(limit), expert_advice(bound, zeta, rate)
    return Method(*parts, bilevel=bilevel, joint=joint, hooks=(Wipeout(),))
