"""How well a network does on images, measured without leaving a trace."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from dartboard.arch.task import Batch, Task
from dartboard.nn.mixture import Mixture
from dartboard.relax.samplers import aside


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
    with aside(task.relaxation):
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
