"""A group of several processes: torch.distributed, as torchrun starts it."""

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
from dartboard.distributed.launch import world_size
from dartboard.errors import DistributedError

T = TypeVar("T")
TIMEOUT = timedelta(minutes=30)
"""How long a rank waits for the others: rank 0 may be at the last selection, or write a large checkpoint."""

_SYNC_BUFFERS = "forward_sync_buffers"  # its name from torch 2.13 on
if _SYNC_BUFFERS not in inspect.signature(DistributedDataParallel).parameters:
    _SYNC_BUFFERS = "broadcast_buffers"


class Reducer:
    """A differentiable all-reduce over the ranks of a process group; copies share the group."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group, self.rank, self.size = group, group.rank(), group.size()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def all_reduce(self, tensor: Tensor) -> Tensor:
        """The sum over all ranks, differentiable any number of times."""
        total: Tensor = _AllReduce.apply(tensor, self.group)  # type: ignore[no-untyped-call]
        return total


class _AllReduce(torch.autograd.Function):
    """The sum over all ranks; its derivative is the sum of the derivatives over all ranks, and so on."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        total = tensor.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _AllReduce.apply(grad.contiguous(), ctx.group), None  # type: ignore[no-untyped-call]


class TorchGroup(Group):
    """This process and the others of a process group.

    Args:
        group: The processes, for gradients and other results.
        norms: The same processes, for batch-norms: their exchange in the middle of a backward pass must not
            interleave with gradients that are summed at the same time.
    """

    def __init__(self, group: ProcessGroup, norms: ProcessGroup) -> None:
        self._group, self.norm_reducer = group, Reducer(norms)
        self.rank, self.size = group.rank(), group.size()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # processes are not copied with the network that they share

    def all_reduce(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        by_kind: dict[tuple[torch.dtype, torch.device], list[int]] = {}
        for index, tensor in enumerate(tensors):
            by_kind.setdefault((tensor.dtype, tensor.device), []).append(index)
        totals = list(tensors)
        for indices in by_kind.values():
            flat = torch.cat([tensors[index].detach().reshape(-1) for index in indices])
            dist.all_reduce(flat, group=self._group)
            parts = flat.split([tensors[index].numel() for index in indices])
            for index, part in zip(indices, parts, strict=True):
                totals[index] = part.view(tensors[index].shape)
        return totals

    def any(self, flag: bool) -> bool:
        total = torch.tensor(float(flag))
        dist.all_reduce(total, group=self._group)
        return bool(total)

    def broadcast(self, make: Callable[[], T]) -> T:
        value_and_error: list[Any] = [None, None]
        if not self.rank:
            try:
                value_and_error[0] = make()
            except Exception as error:  # noqa: BLE001  # it is raised below, here and on all other ranks
                value_and_error[1] = error
        dist.broadcast_object_list(value_and_error, group=self._group, group_src=0)
        value, failure = value_and_error
        if failure is not None:
            raise failure
        return cast(T, value)

    def check_same(self, what: str, value: str) -> None:
        values: list[str | None] = [None] * self.size
        dist.all_gather_object(values, value, group=self._group)
        differs = next((rank for rank in range(self.size) if values[rank] != values[0]), None)
        if differs is not None:
            raise DistributedError(
                f"{what} is not the same on rank 0 and rank {differs}; machines or versions of torch that "
                "differ can do that"
            )

    def data_parallel(self, module: nn.Module, weights: Sequence[nn.Parameter]) -> DistributedDataParallel:
        buffers: dict[str, Any] = {_SYNC_BUFFERS: False}  # statistics are averaged after every step instead
        wrapped = DistributedDataParallel(
            _WithAllWeights(module, weights),
            process_group=self._group,
            # Candidates that are not drawn have no gradient. And only so gradients lie in the same order in
            # every step, the first after a resume included: in what order they are summed depends on it.
            find_unused_parameters=True,
            init_sync=False,  # all ranks hold the same
            **buffers,
        )
        wrapped.register_comm_hook(self._group, _sum_gradients)
        return wrapped


class _WithAllWeights(nn.Module):
    """A module, with those of all weights that it lacks."""

    def __init__(self, inner: nn.Module, weights: Sequence[nn.Parameter]) -> None:
        super().__init__()
        present = {id(parameter) for parameter in inner.parameters()}
        self.inner = inner
        self.unused = nn.Parameter(
            torch.zeros_like(weights[0].flatten()[:1])
        )  # torch warns if every parameter is used
        self.missing = nn.ParameterList([weight for weight in weights if id(weight) not in present])

    def forward(self, *args: object, **options: object) -> object:
        return self.inner(*args, **options)


def _sum_gradients(
    group: ProcessGroup,
    bucket: dist.GradBucket,  # type: ignore[name-defined]
) -> torch.futures.Future[Tensor]:
    """Sums gradients over all ranks; each rank's loss is weighted by its fraction of the batch already."""
    work = dist.all_reduce(bucket.buffer(), group=group, async_op=True)
    assert work is not None  # noqa: S101
    future: torch.futures.Future[list[Tensor]] = work.get_future()
    return future.then(lambda done: done.value()[0])


@contextmanager
def join_group(device: torch.device) -> Iterator[Group]:
    """The group of all processes that torchrun has started, this one included; `SINGLE` without torchrun.

    This rank computes on `device`.
    """
    if world_size() == 1:
        yield SINGLE
        return
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=TIMEOUT)
    # How gradients lie in memory is for torch to choose; to hand them over they are copied anyway.
    warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
    try:
        world = dist.group.WORLD
        assert world is not None  # noqa: S101
        yield TorchGroup(world, dist.new_group(backend=backend, timeout=TIMEOUT))
    finally:
        dist.destroy_process_group()
