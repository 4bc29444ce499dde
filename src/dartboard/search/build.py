"""From the arguments of a search to its parts."""

from dataclasses import dataclass

import torch
from torch.optim import SGD

from dartboard.arch.task import Task
from dartboard.data import Augment, Dataset, ImageSet, Stream, split
from dartboard.errors import CompositionError
from dartboard.nn.network import CellNet, NetConfig
from dartboard.search.method import Method
from dartboard.search.options import SearchOptions
from dartboard.space.spec import SearchSpace

PRECISIONS = {"full": None, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Supply:
    """The images of a search, divided.

    Args:
        train: Batches for the weights.
        arch: Batches that the architecture is judged by; None if it has no parameters.
        valid: Images to measure with; those of `train` if none are held out.
    """

    train: Stream
    arch: Stream | None
    valid: ImageSet


def divide(data: Dataset, method: Method, options: SearchOptions, device: torch.device) -> Supply:
    """Divides the training images.

    A bilevel method gets one part for the weights and one for the architecture, halves by default. A single
    level method judges the architecture by the weights' own images, in an order of their own unless it is
    joint; a tenth is held out by default to measure with.
    """
    share = options.data.valid
    if share is None:
        share = 0.5 if method.bilevel else 0.1
    if method.bilevel and not share:
        raise CompositionError("bilevel judges the architecture by held-out images; set data.valid > 0")
    rest, held_out = split(data.train.labels, share, options.data.seed)
    train = data.train.take(rest)
    valid = data.train.take(held_out) if share else train
    streams = {"train": train, "arch": valid if method.bilevel else train}
    made = {
        name: Stream(
            images,
            batch=options.batch,
            seed=options.seed,
            name=name,
            mean=data.mean,
            deviation=data.deviation,
            augment=Augment(options.data.pad, options.data.flip, options.data.cutout),
            device=device,
        )
        for name, images in streams.items()
        if name == "train" or (method.gradient is not None and not method.joint)
    }
    return Supply(made["train"], made.get("arch"), valid.to(device))


def build_task(
    space: SearchSpace, method: Method, data: Dataset, options: SearchOptions, device: torch.device
) -> Task:
    """The supernet of a space under the method's relaxation; draws the start from torch's generator."""
    net = options.net
    config = NetConfig(
        channels=net.channels,
        classes=len(data.classes),
        input=data.shape,
        stem=net.stem,
        auxiliary=net.auxiliary > 0,
        drop_path=net.drop_path,
        partial=method.partial,
        search=True,
        mix="plain" if options.compile else net.mix,  # one graph; the fused path is many small ones
    )
    relaxation = method.compose(space, torch.Generator().manual_seed(options.seed)).to(device)
    if options.compile and relaxation.draws:
        raise CompositionError(
            f"{type(relaxation).__name__} draws another network for every step, and each would be compiled "
            "anew; set compile=false"
        )
    task = Task(
        CellNet(space, config).to(device),
        relaxation,
        auxiliary=net.auxiliary,
        smoothing=options.weights.smoothing,
        precision=PRECISIONS[options.precision],
    )
    task.pieces = min(options.pieces, options.batch)
    if options.compile:
        task.forward = torch.compile(task.net)  # type: ignore[assignment]
    return task


def build_optimiser(task: Task, options: SearchOptions) -> SGD:
    """The optimiser of all that is trained as weights."""
    chosen = options.weights
    return SGD(
        task.weights,
        chosen.lr,
        momentum=chosen.momentum,
        weight_decay=chosen.weight_decay,
        nesterov=chosen.nesterov,
    )
