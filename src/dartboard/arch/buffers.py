"""Running statistics of normalization layers, of whatever kind."""

from collections.abc import Iterable

from torch import Tensor, nn


def running_statistics(modules: Iterable[nn.Module]) -> list[Tensor]:
    """The running means and variances of those modules that are normalization layers."""
    return [
        statistic
        for module in modules
        for name in ("running_mean", "running_var")
        if isinstance(statistic := getattr(module, name, None), Tensor)
    ]


def local_statistics(net: nn.Module) -> list[Tensor]:
    """The running statistics that each rank computes from its own part of a batch.

    These are all but those of layers whose `sees_all_ranks` is true.
    """
    return running_statistics(
        module for module in net.modules() if not getattr(module, "sees_all_ranks", False)
    )
