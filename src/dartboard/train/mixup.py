"""Mixup: pairs of images blended, and their labels in the same shares (Zhang et al. 2018)."""

from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.data import Batch
from dartboard.data.sampler import generator, send


def mix(batch: Batch, alpha: float, *, classes: int, seed: int, step: int) -> tuple[Tensor, Tensor]:
    """Images blended with images of the same batch, and the shares of the classes, float32 [B, classes].

    All pairs of a batch have one share, from Beta(alpha, alpha), as in the paper. What is drawn depends on
    seed and step alone.
    """
    share = Random(f"mixup {seed} {step}").betavariate(alpha, alpha)
    other = send(torch.randperm(batch.size, generator=generator(seed, "mixup", step)), batch.x.device)
    labels = F.one_hot(batch.y, classes).to(batch.x.dtype)
    x = torch.lerp(batch.x[other], batch.x, share)
    return x, torch.lerp(labels[other], labels, share)
