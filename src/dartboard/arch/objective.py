"""The loss of a network under a relaxation at a batch, with and without side effects."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parallel import DistributedDataParallel

from dartboard.arch.microbatch import Batch, MicroBatch, average_passes, local_statistics, sum_lists
from dartboard.distributed.group import SINGLE, Group
from dartboard.nn.cell import BatchRows
from dartboard.nn.mixture import Mixture
from dartboard.nn.network import CellNet
from dartboard.relax.base import Relaxation
from dartboard.tasks import Classification, Task
from dartboard.utils.torch_rng import preserve_rng

__all__ = ["Batch", "Objective", "Precision", "frozen", "gradients"]


class Precision:
    """The numbers that forward and backward passes compute with.

    Args:
        dtype: What forward passes compute in where torch thinks it safe; None leaves all as it is.
        scale: The factor of losses before gradients are taken, which gradients are divided by after; for
            half precision, whose small numbers would vanish. None for no factor.
    """

    def __init__(self, dtype: torch.dtype | None = None, scale: Tensor | None = None) -> None:
        self.dtype, self.scale = dtype, scale

    def autocast(self, device: torch.device) -> AbstractContextManager[None]:
        """The context of a forward pass on a device."""
        return nullcontext() if self.dtype is None else torch.autocast(device.type, self.dtype)

    def full(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The outputs of a forward pass, in full precision."""
        return outputs if self.dtype is None else tuple(output.float() for output in outputs)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss as gradients are taken of it; see `unscaled`."""
        return loss if self.scale is None else loss * self.scale

    def unscaled(self, grads: Sequence[Tensor]) -> list[Tensor]:
        """Gradients of the loss from those of `scaled`; all zero where one of them overflowed."""
        if self.scale is None:
            return list(grads)
        finite = torch.stack([grad.isfinite().all() for grad in grads]).all()
        return [torch.where(finite, grad / self.scale, 0.0) for grad in grads]


class Objective:
    """A network, what blends its candidates, and what it learns.

    In full precision, with one process and one micro-batch, a loss is one plain forward pass; `Precision`,
    `Group` and `dartboard.arch.microbatch` take part only where they are asked for.

    Args:
        net: The network.
        relaxation: What blends its candidates.
        task: What it learns; classification by default.
        precision: The numbers it computes with; None for full precision.
        group: The processes that share every batch. Losses and gradients of a batch are this rank's part of
            those of the batch of all ranks, until `reduce` sums them.

    Attributes:
        micro_batches: The number of parts that a batch passes the network in, to save memory; all is as for
            the whole batch but for batch-norms, which see one part at a time, as with as many ranks.
        forward: What computes logits: the network, or a compiled form of it with the same parameters.
        net_weights: The network's parameters, in the order of `probe`.
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
        self.net_weights = list(self.net.parameters())
        self.weights: list[nn.Parameter] = [*self.net_weights, *self.relaxation.weight_parameters()]
        self._names = [name for name, _ in self.net.named_parameters()]
        buffers = list(self.net.buffers())
        self._buffers = [[b for b in buffers if b.dtype is dtype] for dtype in {b.dtype for b in buffers}]
        self._saved_buffers = [[torch.empty_like(buffer) for buffer in group] for group in self._buffers]
        self._data_parallel: DistributedDataParallel | None = None

    def logits(self, x: Tensor, mixture: Mixture) -> Tensor:
        """The logits of images [B, classes], in full precision."""
        return self._outputs(x, mixture)[0]

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
        outputs = self._outputs(x, mixture, auxiliary=bool(self.task.auxiliary), rows=rows)
        return self.task.loss(outputs, y), outputs[0]

    def probe(self, batch: Batch, weights: Sequence[Tensor], *, rows: BatchRows | None = None) -> Tensor:
        """The loss the network would have with other weights in the place of `net_weights`.

        Random draws (drop-path) are the same in every probe until something else draws. Statistics of
        batch-norms move as in any forward pass; see `preserve_buffers`.
        """
        x, y = batch
        named, auxiliary = dict(zip(self._names, weights, strict=True)), bool(self.task.auxiliary)
        with preserve_rng(x.device):
            outputs = self._outputs(x, self.relaxation(), auxiliary=auxiliary, rows=rows, weights=named)
        return self.task.loss(outputs, y)

    def _outputs(
        self,
        x: Tensor,
        mixture: Mixture,
        *,
        auxiliary: bool = False,
        rows: BatchRows | None = None,
        weights: dict[str, Tensor] | None = None,
    ) -> tuple[Tensor, ...]:
        """Logits and those of auxiliary heads, in full precision; `weights` replace the network's by name."""
        options = {"auxiliary": auxiliary} | ({} if rows is None else {"rows": rows})
        with self.precision.autocast(self.weights[0].device):
            if weights is None:
                outputs = self.forward(x, mixture, **options)
            else:
                outputs = functional_call(self.net, weights, (x, mixture), options)
        return self.precision.full(outputs if isinstance(outputs, tuple) else (outputs,))

    @contextmanager
    def preserve_buffers(self) -> Iterator[None]:
        """Inside, forward passes leave the statistics of batch-norms as they were; not to be nested."""
        for saved, buffers in zip(self._saved_buffers, self._buffers, strict=True):
            torch._foreach_copy_(saved, buffers)
        try:
            yield
        finally:
            for buffers, saved in zip(self._buffers, self._saved_buffers, strict=True):
                torch._foreach_copy_(buffers, saved)

    def split(self, batch: Batch) -> list[MicroBatch]:
        """The micro-batches of this rank's part of a batch."""
        x, y = batch
        total, start, parts = self.group.size * len(y), self.group.rank * len(y), []
        for part in zip(x.chunk(self.micro_batches), y.chunk(self.micro_batches), strict=True):
            size = len(part[1])
            parts.append(MicroBatch(part, size / total, None if size == total else BatchRows(total, start)))
            start += size
        return parts

    def passes(self, batch: Batch) -> Iterator[MicroBatch]:
        """The micro-batches of a batch, each of which is to pass before the next is asked for.

        All see the same random draws, which are for the batch of all ranks, and statistics become the mean
        of those that each micro-batch leaves.
        """
        parts = self.split(batch)
        if len(parts) == 1:
            return iter(parts)
        return average_passes(parts, self.net, self.relaxation, ranks=self.group.size)

    def reduce(self, lists: Iterable[Sequence[Tensor]]) -> list[Tensor]:
        """Lists of tensors, one a micro-batch, summed entry by entry over micro-batches and ranks."""
        first, *others = lists
        sums = sum_lists([first, *others]) if others else list(first)
        return sums if self.group.size == 1 else self.group.all_reduce(sums)

    def maximum(self, values: Tensor) -> Tensor:
        """The largest of each entry over all ranks."""
        if self.group.size == 1:
            return values
        by_rank = values.new_zeros(self.group.size, *values.shape)
        by_rank[self.group.rank] = values
        return self.group.all_reduce([by_rank])[0].amax(0)

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

    @torch.no_grad()
    def average_buffers(self) -> None:
        """Makes the statistics that each rank has of its own part of a batch their mean over all ranks."""
        if self.group.size > 1:
            local = [*local_statistics(self.net), *self.relaxation.running_means()]
            for statistic, total in zip(local, self.group.all_reduce(local), strict=True):
                statistic.copy_(total / self.group.size)


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


def gradients(loss: Tensor, inputs: Sequence[Tensor], *, create_graph: bool = False) -> list[Tensor]:
    """The gradients of a scalar, zeros where it does not depend on an input."""
    if not loss.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    grads = cast(  # torch's annotation has no None of an unused input
        "Sequence[Tensor | None]",
        torch.autograd.grad(loss, list(inputs), create_graph=create_graph, allow_unused=True),
    )
    return [torch.zeros_like(x) if grad is None else grad for x, grad in zip(inputs, grads, strict=True)]
