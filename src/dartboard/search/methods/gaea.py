"""GAEA: geometry-aware versions of DARTS, PC-DARTS and GDAS (Li et al. 2021)."""

from typing import Annotated

from dartboard.arch.gradient import FirstOrder
from dartboard.arch.penalties import NegativeEntropy
from dartboard.errors import OptionError
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.hooks import Exploration, Temperature
from dartboard.search.method import METHODS, LegacyDefault, Method, Partial, Warmup
from dartboard.search.updates import AutoFloat, exponentiated_gradient

SAMPLING_FLOOR = 1e-5
"""Where samples are drawn from weights on the simplex: their gradient is divided by the weight."""


@METHODS.register("gaea-darts")
def gaea_darts(
    *, bilevel: bool = True, joint: bool = False, lr: AutoFloat = "auto", floor: float = 0.0
) -> Method:
    """GAEA DARTS: weights on the simplex, moved by exponentiated gradient (Li et al. 2021)."""
    update = exponentiated_gradient(lr, floor)
    return Method(RELAXATIONS["simplex"], FirstOrder(), update, bilevel=bilevel, joint=joint)


@METHODS.register("gaea-darts-erm")
def gaea_darts_erm(*, joint: bool = False, lr: AutoFloat = "auto", floor: float = 0.0) -> Method:
    """GAEA DARTS, single level: weights and architecture descend the same loss (Li et al. 2021)."""
    return gaea_darts(bilevel=False, joint=joint, lr=lr, floor=floor)


@METHODS.register("gaea-pc-darts")
def gaea_pc_darts(
    *, bilevel: bool = True, joint: bool = False, lr: AutoFloat = "auto", floor: float = 0.0,
    partial: Partial = "auto", warmup: Warmup = 0.2,
) -> Method:  # fmt: skip
    """GAEA PC-DARTS: partial channels, ops and edges moved by exponentiated gradient (Li et al. 2021)."""
    parts = RELAXATIONS["simplex-edges"], FirstOrder(), exponentiated_gradient(lr, floor)
    return Method(*parts, bilevel=bilevel, joint=joint, partial=partial, warmup=warmup)


@METHODS.register("gaea-gdas")
def gaea_gdas(
    *, bilevel: bool = True, joint: bool = False, lr: AutoFloat = "auto", floor: float = SAMPLING_FLOOR,
    start: float = 10.0, end: float = 0.1, explore: Annotated[AutoFloat, LegacyDefault(0.0)] = "auto",
    entropy: Annotated[float, LegacyDefault(0.0)] = 0.0, warmup: Annotated[Warmup, LegacyDefault(0)] = 1 / 3,
) -> Method:  # fmt: skip
    """GAEA GDAS: samples from weights on the simplex, moved by exponentiated gradient (Li et al. 2021)."""
    if entropy and lr == "auto":
        raise OptionError(
            "entropy is a penalty for a given rate, and lr=auto would follow its gradients; set method.lr too"
        )
    parts = RELAXATIONS["gumbel-simplex"], FirstOrder(), exponentiated_gradient(lr, floor)
    hooks = Temperature(start, end), Exploration(explore)
    penalties = (NegativeEntropy(entropy),) if entropy else ()
    return Method(*parts, penalties=penalties, bilevel=bilevel, joint=joint, warmup=warmup, hooks=hooks)
