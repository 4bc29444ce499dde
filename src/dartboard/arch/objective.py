"""The problem a search works on: the loss of a network under a relaxation, with and without side effects."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parallel import DistributedDataParallel

from dartboard.arch.buffers import local_statistics
from dartboard.arch.microbatch import Passes, Piece
from dartboard.distributed.group import SINGLE, Group
from dartboard.nn.mixture import Mixture
from dartboard.nn.network import CellNet
from dartboard.relax.base import Relaxation

Batch = tuple[Tensor, Tensor]
"""Images [B, C, H, W] and labels [B]."""


class Task:
    """Telling images apart with the network of a space, blended by a relaxation.

    Args:
        net: The network.
        relaxation: What blends its candidates.
        auxiliary: The weight of the auxiliary classifier's loss; 0 leaves it out.
        smoothing: How much of each label is spread over all classes.
        precision: The type that forward passes compute in where torch thinks it safe; None leaves all as
            it is.
        scale: What losses are multiplied with before gradients are taken, and gradients divided by after;
            for half precision, whose small numbers would vanish. None for nothing.
        group: The processes that work on it together. Losses and gradients that come from batches are this
            rank's part of what they are for the whole batch, until `total` adds them up.

    Attributes:
        pieces: In how many pieces a batch passes the network, to save memory; all is as for the whole batch
            but for batch-norms, which see a piece at a time, as with so many ranks.
    """

    def __init__(
        self,
        net: CellNet,
        relaxation: Relaxation,
        *,
        auxiliary: float = 0.0,
        smoothing: float = 0.0,
        precision: torch.dtype | None = None,
        scale: Tensor | None = None,
        group: Group = SINGLE,
    ) -> None:
        self.group = net.group = group
        self.net, self.relaxation = net, relaxation
        self.auxiliary, self.smoothing = auxiliary, smoothing
        self.precision, self.scale = precision, scale
        self.pieces = 1
        self.forward: nn.Module = net
        """What computes logits: the network, or a compiled form of it with the same parameters."""
        self.refresh()

    def refresh(self) -> None:
        """Reads the network's parameters and buffers again, after some have left it."""
        self._named = dict(self.net.named_parameters())
        self.weights: list[nn.Parameter] = [*self._named.values(), *self.relaxation.weight_parameters()]
        """All that is trained as weights: the network's own first, then the relaxation's."""
        buffers = list(self.net.buffers())
        self._statistics = [[b for b in buffers if b.dtype is dtype] for dtype in {b.dtype for b in buffers}]
        self._kept = [[torch.empty_like(buffer) for buffer in group] for group in self._statistics]
        self._wrapped: DistributedDataParallel | None = None

    @property
    def own_weights(self) -> list[nn.Parameter]:
        """The network's parameters, in the order of `probe`."""
        return list(self._named.values())

    def split(self, batch: Batch) -> Iterator[tuple[Batch, float]]:
        """The pieces of a batch, each with its share of the examples of all ranks.

        Each is to pass before the next is asked for: they meet with the same chance, which is drawn for the
        whole batch, and statistics become the mean of what each piece makes of them.
        """
        parts = self.parts(batch)
        if len(parts) == 1:
            yield parts[0][:2]
            return
        passes = Passes(self.net, self.relaxation)
        for piece, share, place in parts:
            passes.again()
            self.net.group = place
            yield piece, share
            passes.add(share * self.group.size)
        passes.settle()
        self.net.group = self.group

    def parts(self, batch: Batch) -> list[tuple[Batch, float, Group]]:
        """The pieces of a batch, the share of each, and what `at` is to be told when it passes alone."""
        x, y = batch
        pieces = list(zip(x.chunk(self.pieces), y.chunk(self.pieces), strict=True))
        whole, start, found = self.size(batch), self.group.rank * len(y), []
        for piece in pieces:
            size = len(piece[1])
            place = Piece(whole, start, size) if len(pieces) > 1 else self.group
            found.append((piece, size / whole, place))
            start += size
        return found

    @contextmanager
    def at(self, place: Group) -> Iterator[None]:
        """Inside, what passes the network is the piece at that place."""
        self.net.group = place
        try:
            yield
        finally:
            self.net.group = self.group

    def size(self, batch: Batch) -> int:
        """How many examples there are in the batches of all ranks."""
        return self.group.size * len(batch[1])

    def total(self, parts: Iterable[Sequence[Tensor]]) -> list[Tensor]:
        """Lists of tensors added up entry by entry, over all pieces and all ranks."""
        return self.group.all_reduce(add_up(parts))

    @contextmanager
    def gathered(self, *, last: bool) -> Iterator[None]:
        """Inside, the gradients that `backward` adds to those of the weights are added up over all ranks.

        Args:
            last: Whether this is the last piece of a batch; those of the others wait for it.
        """
        if self.group.size == 1:
            yield
            return
        if self._wrapped is None:
            self._wrapped = self.group.data_parallel(self.forward, self.weights)
        alone, self.forward = self.forward, self._wrapped
        try:
            with nullcontext() if last else self._wrapped.no_sync():
                yield
        finally:
            self.forward = alone

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """Inside, every rank passes the same examples, and meets with the same chance."""
        with self.at(SINGLE):
            yield

    @torch.no_grad()
    def average_buffers(self) -> None:
        """Makes the statistics that each rank has from its own part of a batch the mean over all ranks."""
        if self.group.size == 1:
            return
        own = [*local_statistics(self.net), *self.relaxation.running_means()]
        for buffer, whole in zip(own, self.group.all_reduce(own), strict=True):
            buffer.copy_(whole / self.group.size)

    def logits(self, x: Tensor, mixture: Mixture) -> Tensor:
        """What the network says [B, classes], in full precision."""
        with self._autocast():
            said: Tensor = self.forward(x, mixture)
        return self._whole(said)

    def loss(self, batch: Batch, mixture: Mixture | None = None) -> tuple[Tensor, Tensor]:
        """The mean loss of a batch, and the logits.

        Args:
            batch: Images and labels.
            mixture: How candidates are blended; None asks the relaxation for a fresh one.
        """
        x, y = batch
        mixture = self.relaxation() if mixture is None else mixture
        with self._autocast():
            said = self.forward(x, mixture, auxiliary=bool(self.auxiliary))
        return self._judge(said, y)

    def _judge(self, said: Tensor | tuple[Tensor, Tensor], labels: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of what a network has said, and its logits."""
        logits, *beside = map(self._whole, said if isinstance(said, tuple) else (said,))
        loss = F.cross_entropy(logits, labels, label_smoothing=self.smoothing)
        for other in beside:
            loss = loss + self.auxiliary * F.cross_entropy(other, labels, label_smoothing=self.smoothing)
        return loss, logits

    def _whole(self, said: Tensor) -> Tensor:
        """What has been said, in full precision."""
        return said.float() if self.precision else said

    def probe(self, batch: Batch, weights: Sequence[Tensor]) -> Tensor:
        """The loss the network would have with other weights in the place of `own_weights`.

        Chance (drop-path) is the same in every probe until somebody else draws from it. Statistics of
        batch-norms move as in any forward pass; see `undisturbed`.
        """
        swapped = dict(zip(self._named, weights, strict=True))
        x, y = batch
        with torch.random.fork_rng([x.device] if x.is_cuda else []), self._autocast():
            said = functional_call(
                self.net, swapped, (x, self.relaxation()), {"auxiliary": bool(self.auxiliary)}
            )
        return self._judge(said, y)[0]

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Inside, forward passes leave the statistics of batch-norms as they were; not to be nested."""
        self._copy(self._kept, self._statistics)
        try:
            yield
        finally:
            self._copy(self._statistics, self._kept)

    @staticmethod
    @torch.no_grad()
    def _copy(targets: list[list[Tensor]], sources: list[list[Tensor]]) -> None:
        for into, values in zip(targets, sources, strict=True):
            torch._foreach_copy_(into, values)

    def _autocast(self) -> AbstractContextManager[None]:
        if self.precision is None:
            return nullcontext()
        return torch.autocast(self._named[next(iter(self._named))].device.type, self.precision)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss as gradients are taken of it; see `unscaled`."""
        return loss if self.scale is None else loss * self.scale

    def unscaled(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Gradients of the loss from those of `scaled`; all zero where one of them overflowed."""
        if self.scale is None:
            return list(gradients)
        finite = torch.stack([gradient.isfinite().all() for gradient in gradients]).all()
        return [torch.where(finite, gradient / self.scale, 0.0) for gradient in gradients]


def add_up(parts: Iterable[Sequence[Tensor]]) -> list[Tensor]:
    """Lists of tensors added up, entry by entry."""
    return [torch.stack(own).sum(0) if len(own) > 1 else own[0] for own in zip(*parts, strict=True)]


@contextmanager
def frozen(parameters: Sequence[nn.Parameter]) -> Iterator[None]:
    """Inside, no gradients of these parameters are computed."""
    thawed = [parameter for parameter in parameters if parameter.requires_grad]
    for parameter in thawed:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in thawed:
            parameter.requires_grad_(True)
