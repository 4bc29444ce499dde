"""Base class of the update rules: checked parameter groups, and a step with a closure."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, overload

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer

from dartboard.arch.checks import ParamGroup
from dartboard.errors import DartboardError


class UpdateRule(Optimizer):
    """A torch optimizer that checks its groups when it gets them and updates in `_update`."""

    @abstractmethod
    def _check_group(self, group: ParamGroup) -> None:
        """Raises an UpdateError for a group with values out of range."""

    @abstractmethod
    def _update(self) -> None:
        """One update of the parameters that have a gradient; called under `torch.no_grad`."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group; an invalid one raises and leaves the optimizer as it was."""
        super().add_param_group(param_group)
        try:
            self._check_group(self.param_groups[-1])
        except DartboardError:
            self.param_groups.pop()
            raise

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One update; returns the loss of `closure`, if there is one, which also computes gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._update()
        return loss


def with_gradients(group: ParamGroup) -> Iterator[tuple[Tensor, Tensor]]:
    """The parameters of a group that have a gradient, with it."""
    return ((p, p.grad) for p in group["params"] if p.grad is not None)
