"""The accuracy of a supernet, measured without side effects."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from dartboard.arch.objective import Batch, Objective
from dartboard.nn.mixture import Mixture, one_hot
from dartboard.relax import fork_rng
from dartboard.space.genotype import Genotype


@torch.no_grad()
def accuracy(objective: Objective, mixture: Callable[[], Mixture], batches: Iterable[Batch]) -> float:
    """The accuracy of the network on images, in evaluation mode.

    Args:
        objective: The network and its relaxation; modes, statistics and random state are restored.
        mixture: Makes the mixture for each batch.
        batches: Images with labels.
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
    """The accuracy of the supernet with the ops of one architecture alone.

    Args:
        objective: As in `accuracy`.
        genotype: The architecture, of the network's space.
        batches: Images with labels.
    """
    chosen = one_hot(objective.net.space, genotype, like=objective.net_weights[0])
    return accuracy(objective, lambda: chosen, batches)
