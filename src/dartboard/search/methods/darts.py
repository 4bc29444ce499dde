"""DARTS, first and second order (Liu et al. 2019)."""

from dartboard.arch.gradient import FirstOrder, SecondOrder
from dartboard.arch.hvp import ProductsName, hessian_products
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.method import METHODS, Method
from dartboard.search.updates import AutoFloat, adam


@METHODS.register("darts")
def darts(
    *, bilevel: bool = True, joint: bool = False, lr: AutoFloat = "auto", weight_decay: float = 1e-3
) -> Method:
    """DARTS, first order: softmax weights moved by Adam (Liu et al. 2019)."""
    update = adam(lr, weight_decay)
    return Method(RELAXATIONS["softmax"], FirstOrder(), update, bilevel=bilevel, joint=joint)


@METHODS.register("darts-2nd")
def darts_2nd(
    *,
    lr: AutoFloat = "auto",
    weight_decay: float = 1e-3,
    product: ProductsName = "exact",
    radius: float = 0.01,
) -> Method:
    """DARTS, second order: the gradient after a virtual step of the weights (Liu et al. 2019)."""
    gradient = SecondOrder(hessian_products(product, radius))
    return Method(RELAXATIONS["softmax"], gradient, adam(lr, weight_decay), bilevel=True)
