"""A group of several processes: torch.distributed, as `launch` or torchrun starts it."""

import inspect
import ipaddress
import os
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from typing import Any, Self, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.nn.parallel import DistributedDataParallel

from dartboard import errors
from dartboard.distributed.group import SINGLE, Group
from dartboard.distributed.launch import STORE, world_size
from dartboard.errors import DistributedError

TIMEOUT = timedelta(minutes=30)
"""How long a rank waits for the others: rank 0 may be at the last selection, or write a large checkpoint."""
PUBLIC = "DARTBOARD_PUBLIC"
"""The environment variable that permits processes of torchrun to meet at a public address."""

T = TypeVar("T")

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

    def broadcast(
        self, make: Callable[[], T], encode: Callable[[T], bytes], decode: Callable[[bytes], T]
    ) -> T:
        kind, data, cause = "", b"", None
        if not self.rank:
            try:
                data = encode(make())
            except Exception as error:  # noqa: BLE001  # it is raised below, here and on all other ranks
                kind, data, cause = type(error).__name__, str(error).encode(), error
        kind, data = self._send(kind.encode()).decode(), self._send(data)
        if kind:
            known = getattr(errors, kind, None)
            if not (isinstance(known, type) and issubclass(known, errors.DartboardError)):
                raise DistributedError(f"{kind} on rank 0: {data.decode()}") from cause
            failure = known.__new__(known)
            Exception.__init__(failure, data.decode())  # some have constructors of their own
            raise failure from cause
        return decode(data)

    def _send(self, data: bytes) -> bytes:
        """The bytes of rank 0 on every rank, sent as a tensor: nothing is unpickled."""
        length = torch.tensor([len(data)])
        dist.broadcast(length, group_src=0, group=self._group)
        tensor = torch.zeros(int(length), dtype=torch.uint8)
        if not self.rank:
            tensor = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else tensor
        dist.broadcast(tensor, group_src=0, group=self._group)
        return tensor.numpy().tobytes()

    def check_same(self, what: str, value: str) -> None:
        digest = torch.frombuffer(bytearray(sha256(value.encode()).digest()), dtype=torch.uint8)
        digests = [torch.empty_like(digest) for _ in range(self.size)]
        dist.all_gather(digests, digest, group=self._group)
        differs = next((rank for rank in range(self.size) if not digests[rank].equal(digests[0])), None)
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


def _check_address() -> None:
    """Refuses to meet at an address that strangers may reach: torchrun's store has no authentication.

    Raises:
        DistributedError: If there is no address, or it is public and `DARTBOARD_PUBLIC` is not 1.
    """
    address = os.environ.get("MASTER_ADDR", "")
    if not address or "MASTER_PORT" not in os.environ:
        raise DistributedError(
            "RANK and WORLD_SIZE are set as by torchrun, but MASTER_ADDR or MASTER_PORT is not; start the "
            "processes with torchrun, or unset them"
        )
    try:
        hosts = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(address, None)}
    except OSError:  # torch says what is wrong with it
        return
    public = sorted(host for host in hosts if not ipaddress.ip_address(host).is_private)
    if public and os.environ.get(PUBLIC) != "1":
        raise DistributedError(
            f"MASTER_ADDR={address} is the public address {public[0]}, where anybody could join the "
            f"processes and send them data; use an address of a private network, or set {PUBLIC}=1 if a "
            "firewall protects it"
        )


@contextmanager
def join_group(device: torch.device) -> Iterator[Group]:
    """The group of all processes that were started with this one; `SINGLE` if there are no others.

    Processes of `launch` meet in a file, those of torchrun at the address that it gives them.
    This rank computes on `device`.

    Raises:
        DistributedError: If torchrun's address is a public one.
    """
    if world_size() == 1:
        yield SINGLE
        return
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    if STORE in os.environ:
        store = dist.FileStore(os.environ[STORE], world_size())  # type: ignore[attr-defined]
        rank = int(os.environ["RANK"])
        dist.init_process_group(backend, store=store, rank=rank, world_size=world_size(), timeout=TIMEOUT)
    else:
        _check_address()
        dist.init_process_group(backend, timeout=TIMEOUT)
    # How gradients lie in memory is for torch to choose; to hand them over they are copied anyway.
    warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
    try:
        world = dist.group.WORLD
        assert world is not None  # noqa: S101
        yield TorchGroup(world, dist.new_group(backend=backend, timeout=TIMEOUT))
    finally:
        dist.destroy_process_group()
