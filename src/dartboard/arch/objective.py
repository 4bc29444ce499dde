"""The loss of a network under a relaxation at a batch, with and without side effects."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parallel import DistributedDataParallel

from dartboard.arch.buffers import BufferSnapshot, average_over_ranks, local_statistics
from dartboard.arch.microbatch import AveragedPasses, Batch, MicroBatch, split_batch, sum_lists
from dartboard.arch.precision import Precision
from dartboard.distributed.group import SINGLE, Group
from dartboard.nn.cell import BatchRows
from dartboard.nn.mixture import Mixture
from dartboard.nn.network import CellNet
from dartboard.relax.base import Relaxation
from dartboard.tasks import Classification, Task

__all__ = ["Batch", "Objective", "frozen"]


class Objective:
    """A network, what blends its candidates, and what it learns.

    Args:
        net: The network.
        relaxation: What blends its candidates.
        task: What it learns; classification by default.
        precision: The numbers it computes with; full precision by default.
        group: The processes that share every batch. Losses and gradients of a batch are this rank's part of
            those of the batch of all ranks, until `reduce` sums them.

    Attributes:
        micro_batches: The number of parts that a batch passes the network in, to save memory; all is as for
            the whole batch but for batch-norms, which see one part at a time, as with as many ranks.
        forward: What computes logits: the network, or a compiled form of it with the same parameters.
        weights: All that is trained as weights: the network's parameters, then the relaxation's.
    """

    def __init__(
        self,
        net: CellNet,
        relaxation: Relaxation,
        task: Task | None = None,
        *,
        precision: Precision | None = None,
        group: Group = SINGLE,
    ) -> None:
        self.net, self.relaxation, self.group = net, relaxation, group
        self.task: Task = task or Classification()
        self.precision = precision or Precision()
        self.micro_batches = 1
        self.forward: nn.Module = net
        self.refresh()

    def refresh(self) -> None:
        """Reads the network's parameters and buffers again, after some have left it."""
        self._named = dict(self.net.named_parameters())
        self.weights: list[nn.Parameter] = [*self._named.values(), *self.relaxation.weight_parameters()]
        self._snapshot = BufferSnapshot(self.net)
        self._data_parallel: DistributedDataParallel | None = None

    @property
    def net_weights(self) -> list[nn.Parameter]:
        """The network's parameters, in the order of `probe`."""
        return list(self._named.values())

    def logits(self, x: Tensor, mixture: Mixture) -> Tensor:
        """The logits of images [B, classes], in full precision."""
        with self.precision.autocast(self.weights[0].device):
            outputs = self.forward(x, mixture)
        return self.precision.full(outputs)[0]

    def loss(
        self, batch: Batch, mixture: Mixture | None = None, *, rows: BatchRows | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean loss of a batch, and the logits.

        Args:
            batch: Images and labels.
            mixture: How candidates are blended; None asks the relaxation for a fresh one.
            rows: Where the examples lie in a larger batch; None for a batch by itself.
        """
        x, y = batch
        mixture = self.relaxation() if mixture is None else mixture
        with self.precision.autocast(self.weights[0].device):
            outputs = self.forward(x, mixture, **self._options(rows))
        outputs = self.precision.full(outputs)
        return self.task.loss(outputs, y), outputs[0]

    def probe(self, batch: Batch, weights: Sequence[Tensor], *, rows: BatchRows | None = None) -> Tensor:
        """The loss the network would have with other weights in the place of `net_weights`.

        Random draws (drop-path) are the same in every probe until something else draws. Statistics of
        batch-norms move as in any forward pass; see `preserve_buffers`.
        """
        swapped = dict(zip(self._named, weights, strict=True))
        x, y = batch
        fork = torch.random.fork_rng([x.device] if x.is_cuda else [])
        with fork, self.precision.autocast(self.weights[0].device):
            outputs = functional_call(self.net, swapped, (x, self.relaxation()), self._options(rows))
        return self.task.loss(self.precision.full(outputs), y)

    def _options(self, rows: BatchRows | None) -> dict[str, object]:
        """The keyword arguments of a forward pass."""
        return {"auxiliary": bool(self.task.auxiliary), **({} if rows is None else {"rows": rows})}

    @contextmanager
    def preserve_buffers(self) -> Iterator[None]:
        """Inside, forward passes leave the statistics of batch-norms as they were; not to be nested."""
        self._snapshot.save()
        try:
            yield
        finally:
            self._snapshot.restore()

    def split(self, batch: Batch) -> list[MicroBatch]:
        """The micro-batches of a batch."""
        return split_batch(batch, self.micro_batches, self.group)

    def passes(self, batch: Batch) -> Iterator[MicroBatch]:
        """The micro-batches of a batch, each of which is to pass before the next is asked for.

        All see the same random draws, which are for the batch of all ranks, and statistics become the mean
        of those that each micro-batch leaves.
        """
        parts = self.split(batch)
        if len(parts) == 1:
            yield parts[0]
            return
        averaged = AveragedPasses(self.net, self.relaxation)
        for part in parts:
            averaged.reset()
            yield part
            averaged.add(part.weight * self.group.size)
        averaged.finish()

    def reduce(self, lists: Iterable[Sequence[Tensor]]) -> list[Tensor]:
        """Lists of tensors, one a micro-batch, summed entry by entry over micro-batches and ranks."""
        return self.group.all_reduce(sum_lists(lists))

    @contextmanager
    def sync_gradients(self, *, last: bool) -> Iterator[None]:
        """Inside, `backward` sums the gradients of the weights over all ranks.

        Args:
            last: Whether this is the last micro-batch of a batch; gradients of the others wait for it.
        """
        if self.group.size == 1:
            yield
            return
        if self._data_parallel is None:
            self._data_parallel = self.group.data_parallel(self.forward, self.weights)
        local, self.forward = self.forward, self._data_parallel
        try:
            with nullcontext() if last else self._data_parallel.no_sync():
                yield
        finally:
            self.forward = local

    def average_buffers(self) -> None:
        """Makes the statistics that each rank has of its own part of a batch their mean over all ranks."""
        if self.group.size > 1:
            local = [*local_statistics(self.net), *self.relaxation.running_means()]
            average_over_ranks(local, self.group)


@contextmanager
def frozen(parameters: Sequence[nn.Parameter]) -> Iterator[None]:
    """Inside, no gradients of these parameters are computed."""
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
