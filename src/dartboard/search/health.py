"""What is measured of a search: the accuracy of the supernet, how decided it is, and warnings."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dartboard.arch.objective import Batch, Objective
from dartboard.nn.mixture import Mixture, one_hot
from dartboard.relax.base import Strength, fork_rng
from dartboard.space.genotype import Genotype, cell_name
from dartboard.space.graph import is_connected
from dartboard.space.spec import NONE, Cell, SearchSpace

SKIP = "skip_connect"
COLLAPSED = 0.75
"""From this share of skip connections on, a cell is called collapsing."""
GAP = 0.3
"""From this loss of accuracy on, discretization is called costly."""
CLIPPED = 0.01
"""From this fraction of clipped rewards on, their bound is called too small."""
UNDECIDED = 0.99
"""Above this share of the largest entropy, a search has hardly begun to decide."""


@dataclass(frozen=True)
class CellHealth:
    """How decided one group is, and what it would be now.

    Args:
        entropy: Mean entropy of the candidates' strengths, in nats, over edges that have a choice.
        largest_entropy: What it would be with equal strengths.
        margin: Mean lead of the strongest candidate over the next.
        alive: Candidates that have not been removed.
        skips: Edges of the current choice that are skip connections.
        edges: Edges of the current choice that are there.
        ops: How often each op is chosen.
        dead_end: Whether the current choice leads nowhere from its inputs to its output.
    """

    entropy: float
    largest_entropy: float
    margin: float
    alive: int
    skips: int
    edges: int
    ops: dict[str, int]
    dead_end: bool


def entropies(weights: Tensor) -> Tensor:
    """The entropy of each row [..., N], in nats; entries that are zero count for nothing."""
    entropy: Tensor = torch.special.entr(weights).sum(-1)
    return entropy


def cell_health(cell: Cell, chosen: Cell, strength: Strength) -> CellHealth:
    """How decided a cell is; `chosen` is what it would be now."""
    open_ = [index for index, edge in enumerate(cell.edges) if len(edge.ops) > 1]
    ops = strength.ops[open_]
    best = ops.topk(min(2, ops.shape[-1]), dim=-1).values
    margin = (best[:, 0] - best[:, -1]).mean() if open_ and ops.shape[-1] > 1 else torch.zeros(())
    sizes = torch.tensor([float(len(cell.edges[index].ops)) for index in open_])
    counts = Counter(edge.ops[0] for edge in chosen.edges)
    return CellHealth(
        entropy=_mean(entropies(ops)),
        largest_entropy=_mean(sizes.log()),
        margin=float(margin),
        alive=int((ops > 0).sum()),
        skips=counts[SKIP],
        edges=len(chosen.edges) - counts[NONE],
        ops=dict(sorted(counts.items())),
        dead_end=not is_connected(chosen),
    )


def _mean(values: Tensor) -> float:
    return float(values.mean()) if len(values) else 0.0


def measure(
    space: SearchSpace, genotype: Genotype, strengths: Mapping[str, Strength]
) -> dict[str, CellHealth]:
    """The health of each group."""
    health = {}
    for group, cell in space.groups:
        ops, edges = strengths[group].ops.detach(), strengths[group].edges.detach()
        on_host = Strength(ops.cpu().double(), edges.cpu().double())  # not every device has float64
        health[group] = cell_health(cell, genotype.cells[group], on_host)
    return health


def mean_entropy(health: Mapping[str, CellHealth]) -> float:
    """The mean entropy over all groups."""
    return sum(cell.entropy for cell in health.values()) / len(health)


def warnings(
    health: Mapping[str, CellHealth],
    *,
    done: bool,
    learns: bool = True,
    accuracy: float | None = None,
    discrete: float | None = None,
    clipped: float = 0.0,
) -> list[str]:
    """The warnings that apply: collapse to skips, a dead end, clipped rewards, a large gap, no decision.

    Collapse and dead ends (no path from inputs to output) are of single groups and come at any time; the
    discretization gap and strengths that are still equal are of the whole search, and come when it is over.

    Args:
        health: The health of each group.
        done: Whether the search is over.
        learns: Whether strengths are learned, so that equal ones are a bad sign.
        accuracy: Of the supernet on held-out images.
        discrete: Of the supernet with the current choice alone.
        clipped: The fraction of rewards that were clipped, for methods that have any.
    """
    messages = []
    for group, cell in health.items():
        name = cell_name(group)
        if cell.edges > 1 and cell.skips >= COLLAPSED * cell.edges:
            messages.append(
                f"{cell.skips} of {cell.edges} edges of the {name} are {SKIP}: the search is collapsing; "
                "take the genotype of an earlier epoch, or try gaea-darts-erm, amended-darts or fewer epochs"
            )
        if cell.dead_end:
            messages.append(
                f"nothing leads from the inputs to the output of the {name}: leave {NONE!r} out of the space"
            )
    if clipped > CLIPPED:
        messages.append(
            f"{clipped:.0%} of the rewards exceed their bound and were clipped, which favors ops with small "
            "ones; set method.bound=auto"
        )
    if accuracy is not None and discrete is not None and accuracy - discrete > GAP and done:
        messages.append(
            f"accuracy falls from {accuracy:.1%} to {discrete:.1%} when the cell is made discrete: the "
            "supernet relies on blends; train the found network before you judge it"
        )
    if done and learns and all(cell.entropy > UNDECIDED * cell.largest_entropy for cell in health.values()):
        messages.append(
            "the strengths have hardly moved from equal ones: the choice is close to chance; search longer, "
            "or with a larger method.lr"
        )
    return messages


@torch.no_grad()
def accuracy(objective: Objective, mixture: Callable[[], Mixture], batches: Iterable[Batch]) -> float:
    """The accuracy of the network on images, in evaluation mode, with a fresh mixture for each batch.

    Modes, statistics and random state of the objective are restored.
    """
    modules: tuple[nn.Module, ...] = (objective.net, objective.relaxation)
    modes = [module.training for module in modules]
    correct, count = [], 0
    with fork_rng(objective.relaxation):
        for module in modules:
            module.eval()
        try:
            for x, y in batches:
                correct.append((objective.logits(x, mixture()).argmax(1) == y).sum())
                count += len(y)
        finally:
            for module, mode in zip(modules, modes, strict=True):
                module.train(mode)
    return float(torch.stack(correct).sum()) / count


def discrete_accuracy(objective: Objective, genotype: Genotype, batches: Iterable[Batch]) -> float:
    """The accuracy of the supernet with the ops of one architecture of its space alone; see `accuracy`."""
    chosen = one_hot(objective.net.space, genotype, like=objective.net_weights[0])
    return accuracy(objective, lambda: chosen, batches)
