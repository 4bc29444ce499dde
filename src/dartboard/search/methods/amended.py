"""Amended DARTS (Bi et al. 2019)."""

from typing import Annotated

from dartboard.arch.gradient import Amended
from dartboard.arch.hvp import ProductsName, hessian_products
from dartboard.relax import categorical
from dartboard.search.method import METHODS, LegacyDefault, Method
from dartboard.search.updates import AutoFloat, adam


@METHODS.register("amended-darts")
def amended_darts(
    *, eta: float = 0.1, lr: AutoFloat = "auto", weight_decay: float = 1e-3, product: ProductsName = "exact",
    radius: float = 0.01, bounded: Annotated[bool, LegacyDefault(False)] = False,
) -> Method:  # fmt: skip
    """Amended DARTS: the first order with an estimate of how the weights follow (Bi et al. 2019)."""
    gradient = Amended(eta, hessian_products(product, radius), bounded=bounded)
    update = adam(lr, weight_decay)
    return Method(lambda space, _: categorical.softmax(space), gradient, update, bilevel=True)
