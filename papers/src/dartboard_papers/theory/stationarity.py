"""How near the end of a search is to being stationary, in GAEA's sense (equation 7).

f is the mean loss on held-out images of the run's supernet in evaluation mode, a function of its weights w
and of the weights theta of the candidates, one row on the simplex for each edge; weights of edges stay as
they are. Methods that hold logits are measured in the weights that those give, so that all are comparable.

The stationarity of theta is (D(theta || p) + D(p || theta)) / lambda^2 with the Kullback-Leibler divergence,
summed over edges. p is the proximal point argmin_u lambda f(u) + D(u || theta), found by mirror descent with
w fixed, or one mirror step theta exp(-lambda grad f), which is the same where f is linear in theta. As lambda
goes to 0, both become the variance of the gradient's entries under theta, summed over edges: 0 at a corner,
whatever the gradient is there, since an exponentiated gradient does not leave it either. That of w, with the
Euclidean geometry and one step, is the squared length of the gradient in w for any lambda.

The paper's lambda is 1 / (2 gamma), and nobody knows gamma of a network; the default suits gamma up to 5.

Before the end there are no weights of the network, only strengths: `movement` says how far those went in each
epoch.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from dartboard.arch.objective import Batch, Objective, gradients
from dartboard.arch.optim import Entropy
from dartboard.errors import CompositionError, DartboardError, RunError
from dartboard.nn.mixture import ArchMixture, Blend
from dartboard.relax import Gumbel
from dartboard.relax.base import Relaxation
from dartboard.relax.categorical import Categorical
from dartboard.runs import Run
from dartboard.search.searcher import Searcher, load_searcher
from dartboard.utils.progress import Progress, no_progress
from dartboard_papers.theory.bregman import bregman_stationarity, proximal_point

ENTROPY = Entropy()


@dataclass(frozen=True)
class Stationarity:
    """Of a run at its end.

    Args:
        loss: f.
        scale: lambda.
        proximal: Of theta, with the proximal point: equation 7.
        step: Of theta, with one mirror step.
        edges: By group, the share of each edge in `proximal`.
        weights: Of w: the squared length of the gradient.
        movement: By group, how far strengths went from each epoch to the next.
    """

    loss: float
    scale: float
    proximal: float
    step: float
    edges: Mapping[str, list[float]]
    weights: float
    movement: Mapping[str, list[float]]


def stationarity(
    run: Run,
    *,
    scale: float = 0.1,
    iterations: int = 20,
    device: torch.device | str = "cpu",
    fall_back: bool = False,
    tell: Progress = no_progress,
) -> Stationarity:
    """How near the end of a search is to being stationary.

    Args:
        run: Of a search, with its checkpoint and its images.
        scale: lambda.
        iterations: Mirror steps that look for the proximal point, each a pass over the images.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        tell: Is told how many passes over the images are done.

    Raises:
        CompositionError: If the search has no weights of candidates on a simplex.
        DartboardError: If the run cannot be brought back.
    """
    searcher = load_searcher(run, device, fall_back=fall_back, progress=tell)
    return measure(searcher, movement(run), scale, iterations, tell)


def measure(
    searcher: Searcher,
    moved: Mapping[str, list[float]],
    scale: float,
    iterations: int,
    tell: Progress = no_progress,
) -> Stationarity:
    """The same of a searcher that is where it shall be measured; nothing of it is changed."""
    check_weights(searcher.relaxation)
    objective, names = searcher.objective, [name for name, _ in searcher.space.groups]
    strengths = searcher.relaxation.strengths()
    theta = [strengths[name].ops.double() for name in names]
    geometries, passes = [ENTROPY] * len(theta), iter(range(iterations + 1))

    def slopes_at(ops: Sequence[Tensor], weights: Sequence[Tensor] = ()) -> Slopes:
        tell("stationarity", next(passes), iterations + 1)
        return slopes(objective, dict(zip(names, ops, strict=True)), searcher.valid_batches(), weights)

    def linear(*ops: Tensor) -> Tensor:
        grads = slopes_at(ops).ops
        return torch.stack(
            [(slope * op_weights).sum() for slope, op_weights in zip(grads, ops, strict=True)]
        ).sum()

    first = slopes_at(theta, objective.net_weights)
    stepped = [
        ENTROPY.step(weights, slope, lr=scale) for weights, slope in zip(theta, first.ops, strict=True)
    ]
    proximal = proximal_point(linear, theta, geometries, scale=scale, iterations=iterations)
    return Stationarity(
        loss=first.loss.item(),
        scale=scale,
        proximal=bregman_stationarity(theta, proximal, geometries, scale=scale).item(),
        step=bregman_stationarity(theta, stepped, geometries, scale=scale).item(),
        edges={name: _rows(x, p, scale) for name, x, p in zip(names, theta, proximal, strict=True)},
        weights=torch.stack([grad.square().sum() for grad in first.weights]).sum().item(),
        movement=moved,
    )


def check_weights(relaxation: Relaxation) -> None:
    """Refuses a relaxation that has no weights on a simplex, or has some that depend on the images."""
    inner = relaxation.inner if isinstance(relaxation, Gumbel) else relaxation
    if not isinstance(inner, Categorical):
        raise CompositionError(
            f"{type(relaxation).__name__} has no weights of candidates that the loss is a function of; name "
            "a search with a softmax or simplex relaxation, such as darts or gaea-darts"
        )


@dataclass(frozen=True)
class Slopes:
    """The mean loss in evaluation mode, and its gradients.

    Args:
        loss: A scalar.
        ops: In the weights of candidates, [E, N] for each group.
        weights: In the network's weights that were asked for.
    """

    loss: Tensor
    ops: list[Tensor]
    weights: list[Tensor]


def slopes(
    objective: Objective, ops: Mapping[str, Tensor], batches: Iterable[Batch], weights: Sequence[Tensor] = ()
) -> Slopes:
    """Loss and gradients where candidates have these weights [E, N], by group; holds one batch at a time."""
    leaves = {name: op_weights.detach().clone().requires_grad_() for name, op_weights in ops.items()}
    inputs = [*leaves.values(), *weights]
    total, sums, images = torch.zeros(()).to(inputs[0]), [torch.zeros_like(leaf) for leaf in inputs], 0
    training = objective.net.training
    objective.net.eval()
    try:
        for batch in batches:
            loss, count = objective.loss(batch, _mixture(objective, leaves))[0], len(batch[1])
            for total_grad, slope in zip(sums, gradients(loss, inputs), strict=True):
                total_grad.add_(slope, alpha=count)
            total, images = total + count * loss.detach(), images + count
    finally:
        objective.net.train(training)
    means = [total_grad / images for total_grad in sums]
    return Slopes(total / images, means[: len(leaves)], means[len(leaves) :])


def _mixture(objective: Objective, ops: Mapping[str, Tensor]) -> ArchMixture:
    """Mixture with these weights of the candidates and the relaxation's own edge weights."""
    relaxation, like = objective.relaxation, objective.net_weights[0]
    strengths = relaxation.strengths()
    blends = {
        name: Blend(relaxation.live(name), op_weights.to(like), strengths[name].edges.to(like))
        for name, op_weights in ops.items()
    }
    return ArchMixture(objective.net.space, blends)


def _rows(x: Tensor, p: Tensor, scale: float) -> list[float]:
    """The stationarity of each edge, from weights and proximal points [E, N]."""
    return [
        bregman_stationarity([weights], [proximal], [ENTROPY], scale=scale).item()
        for weights, proximal in zip(x, p, strict=True)
    ]


def movement(run: Run) -> dict[str, list[float]]:
    """By group, D(a || b) + D(b || a) of the strengths a and b of consecutive epochs, summed over edges.

    Candidates that one of the two does not have, because they were dropped, are left out.

    Raises:
        RunError: If an epoch is damaged.
    """
    try:
        epochs = [run.epoch(row["epoch"])["strengths"] for row in run.metrics()]
        distances: dict[str, list[float]] = {group: [] for group in (epochs[0] if epochs else ())}
        for group, distance in distances.items():
            tables = [torch.tensor(epoch[group]["ops"]).double() for epoch in epochs]
            for a, b in pairwise(tables):
                both = (a > 0) & (b > 0)
                distance.append(((a - b) * (a.log() - b.log()))[both].sum().item())
        return distances
    except DartboardError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        raise RunError(f"{run.path} is damaged: it has epochs whose strengths cannot be read") from None
