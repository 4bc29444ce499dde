"""Linear cells, the widest and the narrowest: smoothness and gradient variance beside the theorems' bounds.

A cell has n nodes with square weights W_1 ... W_n, an input x and an output z, its nodes side by side. The
widest has y_i = W_i x, the narrowest y_i = W_i ... W_1 x (Shu et al. 2020, section 4.3 and appendix C). A
loss f of z follows. What the paper's theorems leave open or get wrong, all of it shown in the tests:

- By "largest eigenvalue" the proofs mean the 2-norm, the largest singular value. With eigenvalues both
  theorems fail where a matrix of the chain is nilpotent.
- Equation 4 sets df^/dy^ = df/dy. The cells have different outputs, so that is true of linear losses only, or
  of a widest cell whose weights are W_k ... W_1 (`products`), which has the same output. Theorem 4.3 holds
  when its sigma cover that cell, as "for any W" says; with the sigma of the same weights it fails.
- Theorem 4.2's bound is wrong. Its proof drops the nodes behind the i-th (equation 9) although their
gradients change
  with W_i, and has the product of the norms before W_i once where it counts twice: moving W_i by D moves y_i
  by D W_{i-1} ... W_1 x. For convex losses, `smoothness_bound` is what the factors of equation 8 do give.

Smoothness is that of a block at a point: the largest absolute eigenvalue of the Hessian of the mean loss in
one W_i, the Lipschitz constant of its gradient in the Frobenius norm. For quadratic losses it is the same
everywhere, and where all examples have one Hessian also the same in the 2-norm, since the block's Hessian is
a Kronecker product.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

Loss = Callable[[Tensor, Tensor], Tensor]
"""From the output z [n, d] of one example and its target [...] to a scalar."""


def widest(weights: Tensor, x: Tensor) -> Tensor:
    """Nodes W_i x [n, d] of the widest cell.

    Args:
        weights: [n, d, d].
        x: Input [d].
    """
    return weights @ x


def narrowest(weights: Tensor, x: Tensor) -> Tensor:
    """Nodes W_i ... W_1 x [n, d] of the narrowest cell; arguments as in `widest`."""
    nodes = []
    for weight in weights:
        x = weight @ x
        nodes.append(x)
    return torch.stack(nodes)


CELLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"widest": widest, "narrowest": narrowest}
"""The two cells by name."""


def products(weights: Tensor) -> Tensor:
    """The weights W_i ... W_1 [n, d, d] with which the widest cell has the output of the narrowest."""
    chain = [weights[0]]
    for weight in weights[1:]:
        chain.append(weight @ chain[-1])
    return torch.stack(chain)


def norms(weights: Tensor) -> Tensor:
    """Largest singular values [...] of matrices [..., d, d]: what the proofs call the largest eigenvalues."""
    values: Tensor = torch.linalg.svdvals(weights)
    return values[..., 0]


@dataclass(frozen=True)
class LinearProblem:
    """Weights, examples and a loss.

    Args:
        weights: [n, d, d].
        inputs: Examples [B, d]; they are all there are, so means over them are exact.
        targets: [B, ...].
        loss: Of one example.
    """

    weights: Tensor
    inputs: Tensor
    targets: Tensor
    loss: Loss

    def with_products(self) -> "LinearProblem":
        """The same with the weights of `products`."""
        return LinearProblem(products(self.weights), self.inputs, self.targets, self.loss)


def smoothness(cell: str, problem: LinearProblem) -> Tensor:
    """Largest absolute eigenvalue of the mean loss' Hessian in each of the weights, [n]."""
    weights = problem.weights

    def mean_loss(flat: Tensor, block: int) -> Tensor:
        """Mean loss where one of the weights is another, flat, [d d]."""
        weight = flat.reshape(weights[block].shape)
        replaced = torch.cat([weights[:block], weight[None], weights[block + 1 :]])
        losses = vmap(lambda x, target: problem.loss(CELLS[cell](replaced, x), target))
        return losses(problem.inputs, problem.targets).mean()

    hessian = jacrev(grad(mean_loss))  # [d d, d d]
    hessians = [hessian(weight.flatten(), block) for block, weight in enumerate(weights)]
    return torch.stack([torch.linalg.eigvalsh(matrix).abs().amax() for matrix in hessians])


def gradients(cell: str, problem: LinearProblem) -> Tensor:
    """Gradients of each example's loss in the weights, [B, n, d, d]."""

    def example_loss(weights: Tensor, x: Tensor, target: Tensor) -> Tensor:
        return problem.loss(CELLS[cell](weights, x), target)

    example_gradients = vmap(grad(example_loss), in_dims=(None, 0, 0))
    return example_gradients(problem.weights, problem.inputs, problem.targets)  # type: ignore[no-any-return]


def variances(cell: str, problem: LinearProblem) -> Tensor:
    """Mean over examples of the squared distance of a gradient from the mean one, in the 2-norm, [n]."""
    grads = gradients(cell, problem)
    return norms(grads - grads.mean(0)).square().mean(0)


def claimed_smoothness(lengths: Tensor, widest: Tensor) -> Tensor:
    """Theorem 4.2's bound (prod_{j < i} lambda_j) L_i on the narrowest cell's constants, [n].

    It fails: `dartboard_papers.theory.linear_problems.counterexample` has two nodes.

    Args:
        lengths: lambda: `norms` of the weights, or as the words have it their largest eigenvalues, [n].
        widest: L, the widest cell's constants, [n].
    """
    before = torch.cat([lengths.new_ones(1), lengths[:-1].cumprod(0)])
    return before * widest


def smoothness_bound(lengths: Tensor, widest: Tensor) -> Tensor:
    """Bound (sum_{k >= i} prod_{j <= k, j != i} lambda_j sqrt(L_k))^2 that holds for convex losses, [n].

    The narrowest cell is linear in each of its weights, so its block Hessian is T' H T with the Hessian H of
    the widest cell at `products`, and T the map from a move of W_i to those of all products behind it.
    Blocks of a positive semidefinite H are at most sqrt(L_k L_l).

    Args:
        lengths: `norms` of the weights, [n].
        widest: Constants of the widest cell with the weights of `products`, [n]; with any, where the loss is
            quadratic.
    """
    return (_factors(lengths) * widest.sqrt()).sum(-1).square()


def variance_bound(lengths: Tensor, widest: Tensor) -> Tensor:
    """Theorem 4.3's bound n sum_{k >= i} (prod_{j <= k, j != i} lambda_j)^2 sigma_k^2, [n].

    Args:
        lengths: As in `claimed_smoothness`.
        widest: sigma^2, the variances of the widest cell; those with the weights of `products` make it true.
    """
    return len(lengths) * (_factors(lengths).square() * widest).sum(-1)


def _factors(lengths: Tensor) -> Tensor:
    """Row i, column k >= i: the product of the lengths up to k but for the i-th; 0 left of that. [n, n]."""
    count = len(lengths)
    without = lengths.repeat(count, 1)
    without.fill_diagonal_(1.0)
    return without.cumprod(1).triu()
