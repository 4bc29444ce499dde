"""PC-DARTS (Xu et al. 2020)."""

from dartboard.arch.gradient import FirstOrder
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.method import METHODS, Method, Partial, Warmup
from dartboard.search.updates import AutoFloat, adam


@METHODS.register("pc-darts")
def pc_darts(
    *, bilevel: bool = True, joint: bool = False, lr: AutoFloat = "auto", weight_decay: float = 1e-3,
    partial: Partial = "auto", warmup: Warmup = 0.3,
) -> Method:  # fmt: skip
    """PC-DARTS: a quarter of the channels, and weights for edges (Xu et al. 2020)."""
    parts = RELAXATIONS["softmax-edges"], FirstOrder(), adam(lr, weight_decay)
    return Method(*parts, bilevel=bilevel, joint=joint, partial=partial, warmup=warmup)
