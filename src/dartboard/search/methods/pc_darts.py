"""PC-DARTS (Xu et al. 2020)."""

from dartboard.arch.gradient import FirstOrder
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.method import METHODS, Method
from dartboard.search.updates import adam


@METHODS.register("pc-darts")
def pc_darts(
    *, bilevel: bool = True, joint: bool = False, lr: float = 6e-4, weight_decay: float = 1e-3,
    partial: int = 4, warmup: int = 15,
) -> Method:  # fmt: skip
    """PC-DARTS: a quarter of the channels, and weights for edges (Xu et al. 2020)."""
    parts = RELAXATIONS["softmax-edges"], FirstOrder(), adam(lr, weight_decay)
    return Method(*parts, bilevel=bilevel, joint=joint, partial=partial, warmup=warmup)
