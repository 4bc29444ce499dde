"""Builds the objective of a search and the optimizer of its weights."""

from dataclasses import replace

import torch
from torch.optim import SGD

from dartboard.arch.objective import Objective
from dartboard.arch.precision import Precision
from dartboard.data import Dataset
from dartboard.data.sampler import generator
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.config import LoopOptions, WeightOptions
from dartboard.errors import CompositionError
from dartboard.nn.network import CellNet, NetConfig
from dartboard.nn.sync_norm import synchronize
from dartboard.relax.base import Relaxation
from dartboard.search.config import SearchOptions
from dartboard.search.method import Method
from dartboard.space.spec import SearchSpace
from dartboard.tasks import Classification

PRECISIONS = {"full": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def build_objective(
    space: SearchSpace,
    method: Method,
    data: Dataset,
    options: SearchOptions,
    device: torch.device,
    group: Group = SINGLE,
) -> Objective:
    """The supernet of a space under the method's relaxation; draws the start from torch's generator."""
    # The relaxation has a generator of its own, so that the start of the network does not depend on it.
    relaxation = method.compose(space, generator("relaxation", options.seed))
    if options.compile and relaxation.stochastic:
        raise CompositionError(
            f"{type(relaxation).__name__} draws another network for every step, and each would be compiled "
            "anew; set compile=false"
        )
    relaxation = relaxation.to(device)
    net = CellNet(space, replace(net_config(data, options), partial=method.partial, search=True))
    if method.trains:
        check_micro_batches(net, options, group)
    return make_objective(net.to(device), relaxation, options, group)


def make_objective(
    net: CellNet, relaxation: Relaxation, options: LoopOptions, group: Group = SINGLE
) -> Objective:
    """The objective of a network as the options say: losses, precision, pieces, compiled or not."""
    if options.sync_norms:
        synchronize(net, group.norm_reducer)
    classification = Classification(options.net.auxiliary, options.weights.smoothing)
    dtype = PRECISIONS[options.precision]
    precision = None if dtype is None else Precision(dtype)
    objective = Objective(net, relaxation, classification, precision=precision, group=group)
    objective.micro_batches = min(options.pieces, group.local_batch(options.batch))
    if options.compile:
        objective.forward = torch.compile(net)  # type: ignore[assignment]
    return objective


def net_config(data: Dataset, options: LoopOptions) -> NetConfig:
    """What the network for a data set is built with."""
    chosen = options.net
    return NetConfig(
        channels=chosen.channels,
        classes=len(data.classes),
        input=data.shape,
        stem=chosen.stem,
        auxiliary=chosen.auxiliary > 0,
        drop_path=chosen.drop_path,
        mix="plain" if options.compile else chosen.mix,  # one graph; the fused path is many small ones
    )


def check_micro_batches(net: CellNet, options: LoopOptions, group: Group = SINGLE) -> None:
    """Raises if a batch-norm would be given one value a channel: one pixel of one example."""
    (height, width), slots = net.config.input[1:], net.space.slots
    scale = net.stem.scales[-1] * 2 ** sum(slot.stride == 2 for slot in slots)
    one_pixel = max(height, width) <= scale or net.auxiliary is not None
    rows = torch.arange(group.local_batch(options.batch))
    if one_pixel and min(map(len, rows.chunk(options.pieces))) == 1:
        together = f" in {group.size} processes" if group.size > 1 else ""
        small = f"images of {height}x{width} come down to"
        what = small if max(height, width) <= scale else "the auxiliary classifier sees"
        raise CompositionError(
            f"{what} one pixel, of which batch-norms need two examples at a time; with "
            f"batch={options.batch} and pieces={options.pieces}{together} some pass alone: set a larger "
            "batch or fewer pieces"
        )


def build_optimizer(objective: Objective, chosen: WeightOptions) -> SGD:
    """The optimizer of all that is trained as weights."""
    return SGD(
        objective.weights,
        chosen.lr,
        momentum=chosen.momentum,
        weight_decay=chosen.weight_decay,
        nesterov=chosen.nesterov,
    )
