"""Networks that can be analyzed, and the labeled examples that they are measured with."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset as TorchDataset

from dartboard.arch.objective import Batch
from dartboard.data import Dataset, Images, evaluation_batches
from dartboard.data.sampler import generator
from dartboard.errors import DataError, OptionError, one_line
from dartboard.nn.model_file import Model

Network = Model | nn.Module
"""A trained network of dartboard, or any module from a batch of examples to logits [N, classes]."""
Examples = Dataset | Images | tuple[Tensor, Tensor] | TorchDataset[Any]
"""A data set, of which test images are taken if it has any, else validation or training images; images (of a
`Model`, which knows how they are normalized); a pair of tensors as the network takes them, examples [N, ...]
and labels [N]; or a data set of torch that gives an example with its label."""


def module_of(network: Network) -> nn.Module:
    """The module of a network."""
    return network.net if isinstance(network, Model) else network


def normalized_examples(network: Network, examples: Examples, count: int, seed: int) -> Batch:
    """At most `count` examples, spread evenly, as a network takes them, and shuffled, with their labels.

    Raises:
        DataError: If there are none, or it is not known how their pixels are normalized.
        OptionError: If the network has no weights.
    """
    weight = next((weight for weight in module_of(network).parameters() if weight.is_floating_point()), None)
    if weight is None:
        raise OptionError("the network has no weights to look at")
    x, y = _take(network, examples, count)
    order = torch.randperm(len(y), generator=generator("examples", seed))
    return (x[order].to(weight.dtype) if x.is_floating_point() else x[order]), y[order]


def _take(network: Network, examples: Examples, count: int) -> tuple[Tensor, Tensor]:
    """At most `count` examples in their order."""
    if isinstance(examples, tuple):
        x, y = examples
        if len(x) != len(y) or not len(y):
            raise DataError(f"there are {len(x):,} examples with {len(y):,} labels; give each one label")
        places = _spread(len(y), count).to(x.device)
        return x[places].detach().cpu(), y[places.to(y.device)].detach().cpu()
    if isinstance(examples, TorchDataset):
        pairs = [examples[place] for place in _spread(len(examples), count).tolist()]  # type: ignore[arg-type]
        if not pairs:
            raise DataError("there are no examples to look at a network with")
        return torch.stack([torch.as_tensor(x) for x, _ in pairs]), torch.tensor([int(y) for _, y in pairs])
    normalization: Model | Dataset
    if isinstance(network, Model):
        normalization = network
    elif isinstance(examples, Dataset):
        normalization = examples
    else:
        raise DataError(
            "it is not known how these images are normalized for the network; give their data set, whose "
            "mean and std are taken, or a pair of tensors as the network takes them"
        )
    images = examples
    if isinstance(images, Dataset):
        parts = (images.test, images.valid, images.train)
        images = next(part for part in parts if part is not None and len(part))
    if not len(images):
        raise DataError("there are no images to look at a network with")
    crop_pct = network.crop_pct if isinstance(network, Model) else 1.0
    (batch,) = evaluation_batches(
        images, batch=count, limit=count, mean=normalization.mean, std=normalization.std, crop_pct=crop_pct
    )
    return batch.x, batch.y


def _spread(count: int, most: int) -> Tensor:
    """At most `most` of `count` places, evenly spaced, starting with the first."""
    return torch.arange(count) if most >= count else torch.arange(most) * count // most


def split_batches(x: Tensor, y: Tensor, size: int, *, drop_last: bool = False) -> list[Batch]:
    """The examples in batches; with `drop_last` without a last one that is smaller than the others."""
    batches = list(zip(x.split(size), y.split(size), strict=True))
    return batches[:-1] if drop_last and len(batches) > 1 and len(batches[-1][1]) < size else batches


def check_logits(net: nn.Module, batches: Sequence[Batch]) -> None:
    """Raise OptionError unless a module gives logits [N, classes], with a class for every label."""
    x, y = batches[0]
    try:
        with torch.no_grad():
            logits = net(x)
    except Exception as error:
        raise OptionError(
            f"the network cannot take examples of shape {list(x.shape)} ({one_line(error)}); give it "
            "examples of the shape and type that it was made for"
        ) from error
    if not isinstance(logits, Tensor) or logits.dim() != 2 or len(logits) != len(y):
        shape = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise OptionError(f"the network gives {shape} for {len(y)} examples; wanted are logits [N, classes]")
    highest = max(int(labels.max()) for _, labels in batches)
    if highest >= logits.shape[1]:
        raise OptionError(f"there is a label {highest}, but the network has {logits.shape[1]} classes")
