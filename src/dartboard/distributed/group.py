"""The processes that share one loop, each with its part of every batch."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor, nn

from dartboard.errors import DistributedError

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel

    from dartboard.distributed.process_group import Exchange

T = TypeVar("T")


class Group:
    """This process alone; `dartboard.distributed.process_group.Group` is this process among others.

    What is computed from a part of a batch is added up over all ranks before it has an effect, so that after
    every step all of them hold the same state, bit for bit.

    Attributes:
        rank: The number of this process, from 0; rank 0 is the one that writes.
        count: How many there are.
        norms: What batch-norms that see the examples of all ranks exchange statistics with; None alone.
    """

    rank: int = 0
    count: int = 1
    norms: "Exchange | None" = None

    def rows(self, size: int) -> slice:
        """The rows of a batch of this size that are this rank's."""
        own = self.share(size)
        return slice(self.rank * own, (self.rank + 1) * own)

    def whole(self, own: int) -> int:
        """How many rows a batch has of which this rank has so many."""
        return self.count * own

    def share(self, size: int) -> int:
        """How many rows of a batch each rank has.

        Raises:
            DistributedError: If ranks would not have equally many.
        """
        if size % self.count:
            below, above = size - size % self.count, size + self.count - size % self.count
            fitting = f"batch={above}" if not below else f"batch={below} or batch={above}"
            raise DistributedError(
                f"a batch of {size} cannot be shared out evenly among {self.count} processes; set {fitting}"
            )
        return size // self.count

    def total(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The sum of each tensor over all ranks."""
        return list(tensors)

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return flag

    def first(self, make: Callable[[], T]) -> T:
        """What `make` gives on rank 0, on every rank; what it raises there is raised everywhere."""
        return make()

    def check_same(self, what: str, value: str) -> None:
        """Raises a DistributedError if a value is not the same on all ranks."""

    def unshared(self, net: nn.Module) -> list[Tensor]:
        """The statistics of a network that each rank has from its own part of a batch.

        They are those of all norms, of whatever kind, but for norms whose `sees_all_ranks` is true.
        """
        return statistics(own for own in net.modules() if not getattr(own, "sees_all_ranks", False))

    def wrapped(self, forward: nn.Module, weights: Sequence[nn.Parameter]) -> "DistributedDataParallel":
        """A module with whose backward pass the gradients of the weights are added up over all ranks.

        Args:
            forward: The module; it has most of the weights.
            weights: All of them.
        """
        raise NotImplementedError  # one process alone has nothing to add up


def statistics(modules: Iterable[nn.Module]) -> list[Tensor]:
    """The running statistics of those modules that are norms, of whatever kind."""
    return [
        statistic
        for module in modules
        for name in ("running_mean", "running_var")
        if isinstance(statistic := getattr(module, name, None), Tensor)
    ]


SINGLE = Group()
