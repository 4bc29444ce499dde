"""The processes that share one training loop, each with its part of every batch."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from dartboard.errors import DistributedError

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.nn.parallel import DistributedDataParallel

    from dartboard.distributed.process_group import Reducer


T = TypeVar("T")


class Group:
    """The group of one process; `dartboard.distributed.process_group.TorchGroup` has several.

    What is computed from a part of a batch is summed over all ranks before it has an effect, so that after
    every step all of them hold the same state, bit for bit.

    Attributes:
        rank: The number of this process, from 0; rank 0 is the one that writes.
        size: The number of processes.
        norm_reducer: Sums the statistics of synchronized batch-norms; None in a group of one.
    """

    rank: int = 0
    size: int = 1
    norm_reducer: "Reducer | None" = None

    def local_rows(self, batch: int) -> slice:
        """This rank's rows of a global batch of `batch` rows."""
        local = self.local_batch(batch)
        return slice(self.rank * local, (self.rank + 1) * local)

    def local_batch(self, batch: int) -> int:
        """The rows that each rank has of a global batch of `batch` rows.

        Raises:
            DistributedError: If ranks would not have equally many.
        """
        if batch % self.size:
            below, above = batch - batch % self.size, batch + self.size - batch % self.size
            fitting = f"batch={above}" if not below else f"batch={below} or batch={above}"
            raise DistributedError(
                f"a batch of {batch} cannot be shared out evenly among {self.size} processes; set {fitting}"
            )
        return batch // self.size

    def all_reduce(self, tensors: "Sequence[Tensor]") -> "list[Tensor]":
        """The sum of each tensor over all ranks."""
        return list(tensors)

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return flag

    def broadcast(
        self,
        make: Callable[[], T],
        encode: Callable[[T], bytes],  # noqa: ARG002
        decode: Callable[[bytes], T],  # noqa: ARG002
    ) -> T:
        """The value that `make` gives on rank 0, on every rank; an error there is raised on every rank.

        It is sent as bytes; a group of one sends nothing, and has the value itself.
        """
        return make()

    def check_same(self, what: str, value: str) -> None:
        """Raises a DistributedError if a value is not the same on all ranks."""

    def data_parallel(
        self, module: "nn.Module", weights: "Sequence[nn.Parameter]"
    ) -> "DistributedDataParallel":
        """The module, wrapped so that a backward pass sums the gradients of the weights over all ranks.

        It has most of the weights; `weights` are all of them.
        """
        raise NotImplementedError  # a group of one has nothing to sum


SINGLE = Group()
