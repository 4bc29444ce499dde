"""Distance-generating functions: what mirror descent measures steps with (GAEA section 3.1).

A geometry is a strongly convex function phi. It induces the Bregman divergence
D(x || y) = phi(x) - phi(y) - <grad phi(y), x - y>, and the step argmin_u lr <gradient, u> + D(u || x). A new
one is a class with three methods, registered here or anywhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dartboard.arch.checks import check_rows
from dartboard.arch.optim.exponentiated_gradient import exponentiate, exponentiated_gradient_
from dartboard.arch.optim.simplex import State, project
from dartboard.registry import Registry


class Geometry(ABC):
    """A distance-generating function phi on a parameter of any shape, with its domain."""

    @abstractmethod
    def value(self, x: Tensor) -> Tensor:
        """Phi of the whole parameter, a scalar."""

    @abstractmethod
    def gradient(self, x: Tensor) -> Tensor:
        """The mirror map grad phi, shaped like `x`."""

    @abstractmethod
    def step(self, x: Tensor, gradient: Tensor, *, lr: float) -> Tensor:
        """The mirror step argmin_u lr <gradient, u> + D(u || x) over the domain (GAEA equation 6)."""

    def divergence(self, x: Tensor, y: Tensor) -> Tensor:
        """The Bregman divergence D(x || y), a scalar."""
        return self.value(x) - self.value(y) - (self.gradient(y) * (x - y)).sum()

    def dual_norm(self, gradient: Tensor) -> Tensor:
        """Size of a gradient in the dual of the norm that phi is 1-strongly convex in: G in the theorems."""
        return gradient.square().sum().sqrt()

    def step_(self, x: Tensor, gradient: Tensor, state: State, *, lr: float) -> None:
        """The mirror step in place; `state` is what an optimizer keeps for the parameter."""
        del state  # for geometries that remember more of a point than the parameter can hold
        x.copy_(self.step(x, gradient, lr=lr))

    def check(self, parameters: Sequence[Tensor]) -> None:
        """Raise an UpdateError unless the parameters lie in the domain."""
        del parameters  # every point will do where nothing is said


GEOMETRIES: Registry[Geometry] = Registry("geometry")
"""Geometries by name."""


@dataclass(frozen=True)
class Euclidean(Geometry):
    """phi = |x|^2 / 2: gradient descent, projected where rows must stay on the simplex.

    Args:
        simplex: Rows live on the simplex. A projected weight can leave zero again, dead or not.
    """

    simplex: bool = False

    def value(self, x: Tensor) -> Tensor:
        return x.square().sum() / 2

    def gradient(self, x: Tensor) -> Tensor:
        return x

    def step(self, x: Tensor, gradient: Tensor, *, lr: float) -> Tensor:
        moved = x.add(gradient, alpha=-lr)
        return project(moved) if self.simplex else moved

    def divergence(self, x: Tensor, y: Tensor) -> Tensor:
        return self.value(x - y)

    def check(self, parameters: Sequence[Tensor]) -> None:
        if self.simplex:
            check_rows(parameters)


@dataclass(frozen=True)
class Entropy(Geometry):
    """phi = sum x log x over rows on the simplex: exponentiated gradient.

    It is 1-strongly convex in the norm (sum over rows |x_row|_1^2)^(1/2), whose dual takes the largest entry
    of each row. GAEA section 3.3 has |x|_1 / sqrt(rows): smaller, so its bound on gradients is larger.
    """

    def value(self, x: Tensor) -> Tensor:
        return torch.xlogy(x, x).sum()

    def gradient(self, x: Tensor) -> Tensor:
        return x.log() + 1

    def step(self, x: Tensor, gradient: Tensor, *, lr: float) -> Tensor:
        return exponentiate(x.log(), gradient, lr=lr).exp()

    def step_(self, x: Tensor, gradient: Tensor, state: State, *, lr: float) -> None:
        exponentiated_gradient_(x, gradient, state, lr=lr)

    def divergence(self, x: Tensor, y: Tensor) -> Tensor:
        return (torch.xlogy(x, x) - torch.xlogy(x, y) - x + y).sum()

    def dual_norm(self, gradient: Tensor) -> Tensor:
        return gradient.abs().amax(-1).square().sum().sqrt()

    def check(self, parameters: Sequence[Tensor]) -> None:
        check_rows(parameters)


GEOMETRIES.register("euclidean")(Euclidean())
GEOMETRIES.register("euclidean-simplex")(Euclidean(simplex=True))
GEOMETRIES.register("entropy")(Entropy())
