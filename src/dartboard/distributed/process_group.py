"""This process among others that share a loop: torch.distributed, as torchrun starts it."""

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self, TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.nn.parallel import DistributedDataParallel

from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DistributedError
from dartboard.utils.parallel import started_together

T = TypeVar("T")
PATIENCE = timedelta(minutes=30)
"""How long a rank waits for the others: rank 0 may be at the last selection, or write a large checkpoint."""

_NEW = "forward_sync_buffers"  # its name from torch 2.13 on
_NAME = _NEW if _NEW in inspect.signature(DistributedDataParallel).parameters else "broadcast_buffers"
_BUFFERS: dict[str, Any] = {_NAME: False}
"""Statistics are left alone before forward passes too."""


class Exchange:
    """Processes that add numbers up; a copy of what uses it uses the same.

    Args:
        group: The processes.
    """

    def __init__(self, group: ProcessGroup) -> None:
        self.group, self.rank, self.count = group, group.rank(), group.size()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def total(self, own: Tensor) -> Tensor:
        """The sum over all ranks, as a function that can be derived."""
        whole: Tensor = _Total.apply(own, self.group)  # type: ignore[no-untyped-call]
        return whole


class _Total(torch.autograd.Function):
    """The sum over all ranks; its derivative is the sum over all ranks of the derivatives, and so on."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        whole = own.clone()
        dist.all_reduce(whole, group=group)
        return whole

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        return _Total.apply(slope.contiguous(), ctx.group), None  # type: ignore[no-untyped-call]


class TorchGroup(Group):
    """This process and the others of a process group.

    Args:
        group: The processes, for what is computed.
        norms: The same processes, for batch-norms: what they exchange in the middle of a backward pass must
            not get in the way of gradients that are added up at the same time.
    """

    def __init__(self, group: ProcessGroup, norms: ProcessGroup) -> None:
        self._group, self.norms = group, Exchange(norms)
        self.rank, self.count = group.rank(), group.size()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # processes are not copied with the network that they share

    def total(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        flat: dict[tuple[torch.dtype, torch.device], list[int]] = {}
        for place, tensor in enumerate(tensors):
            flat.setdefault((tensor.dtype, tensor.device), []).append(place)
        found = list(tensors)
        for places in flat.values():
            whole = torch.cat([tensors[place].detach().reshape(-1) for place in places])
            dist.all_reduce(whole, group=self._group)
            parts = whole.split([tensors[place].numel() for place in places])
            for place, part in zip(places, parts, strict=True):
                found[place] = part.view(tensors[place].shape)
        return found

    def any(self, flag: bool) -> bool:
        said = torch.tensor(float(flag))
        dist.all_reduce(said, group=self._group)
        return bool(said)

    def first(self, make: Callable[[], T]) -> T:
        said: list[Any] = [None, None]
        if not self.rank:
            try:
                said[0] = make()
            except Exception as error:  # noqa: BLE001  # it is raised below, here and on all other ranks
                said[1] = error
        dist.broadcast_object_list(said, group=self._group, group_src=0)
        if said[1] is not None:
            raise said[1]
        return cast(T, said[0])

    def check_same(self, what: str, value: str) -> None:
        said: list[str | None] = [None] * self.count
        dist.all_gather_object(said, value, group=self._group)
        other = next((rank for rank, own in enumerate(said) if own != said[0]), None)
        if other is not None:
            raise DistributedError(
                f"{what} is not the same on rank 0 and rank {other}; machines or versions of torch that "
                "differ can do that"
            )

    def wrapped(self, forward: nn.Module, weights: Sequence[nn.Parameter]) -> DistributedDataParallel:
        module = DistributedDataParallel(
            _Holder(forward, weights),
            process_group=self._group,
            # Candidates that are not drawn have no gradient. And only so gradients lie in the same order in
            # every step, the first after a resume included: in what order they are summed depends on it.
            find_unused_parameters=True,
            init_sync=False,  # all ranks hold the same; statistics are evened out after every step
            **_BUFFERS,
        )
        module.register_comm_hook(self._group, _add_up)
        return module


class _Holder(nn.Module):
    """A module, with those of the weights that it lacks.

    Args:
        inner: The module.
        weights: All weights.
    """

    def __init__(self, inner: nn.Module, weights: Sequence[nn.Parameter]) -> None:
        super().__init__()
        own = {id(parameter) for parameter in inner.parameters()}
        self.inner = inner
        self.unused = nn.Parameter(
            torch.zeros_like(weights[0].flatten()[:1])
        )  # torch warns where there is no such thing
        self.beside = nn.ParameterList([weight for weight in weights if id(weight) not in own])

    def forward(self, *args: object, **options: object) -> object:
        return self.inner(*args, **options)


def _add_up(
    group: ProcessGroup,
    bucket: dist.GradBucket,  # type: ignore[name-defined]
) -> torch.futures.Future[Tensor]:
    """Adds gradients up over all ranks; each has its share of the loss already."""
    work = dist.all_reduce(bucket.buffer(), group=group, async_op=True)
    assert work is not None  # noqa: S101
    future: torch.futures.Future[list[Tensor]] = work.get_future()
    return future.then(lambda done: done.value()[0])


@contextmanager
def joined(device: torch.device) -> Iterator[Group]:
    """Inside, this process is one of those that torchrun has started; alone where it has not.

    Args:
        device: Where this rank computes.
    """
    if started_together() == 1:
        yield SINGLE
        return
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=PATIENCE)
    # How gradients lie in memory is for torch to choose; to hand them over they are copied anyway.
    warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
    try:
        world = dist.group.WORLD
        assert world is not None  # noqa: S101
        yield TorchGroup(world, dist.new_group(backend=backend, timeout=PATIENCE))
    finally:
        dist.destroy_process_group()
