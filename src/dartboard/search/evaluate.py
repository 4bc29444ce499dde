"""How well a network does on images, measured without leaving a trace."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from dartboard.arch.objective import Batch, Task
from dartboard.nn.mixture import Mixture, one_hot
from dartboard.relax import fork_rng
from dartboard.space.genotype import Genotype


@torch.no_grad()
def accuracy(task: Task, mixture: Callable[[], Mixture], batches: Iterable[Batch]) -> float:
    """The share of images that the network gets right, in evaluation mode.

    Args:
        task: The network and its relaxation; modes, statistics and chance are as before afterwards.
        mixture: Makes the mixture for each batch.
        batches: Images with labels.
    """
    modules: tuple[nn.Module, ...] = (task.net, task.relaxation)
    modes = [module.training for module in modules]
    rights, count = [], 0
    with fork_rng(task.relaxation):
        for module in modules:
            module.eval()
        try:
            for x, y in batches:
                rights.append((task.logits(x, mixture()).argmax(1) == y).sum())
                count += len(y)
        finally:
            for module, mode in zip(modules, modes, strict=True):
                module.train(mode)
    return float(torch.stack(rights).sum()) / count


def discrete_accuracy(task: Task, genotype: Genotype, batches: Iterable[Batch]) -> float:
    """The share of images that the supernet gets right with the ops of one architecture alone.

    Args:
        task: As in `accuracy`.
        genotype: The architecture, of the network's space.
        batches: Images with labels.
    """
    chosen = one_hot(task.net.space, genotype, like=task.own_weights[0])
    return accuracy(task, lambda: chosen, batches)
