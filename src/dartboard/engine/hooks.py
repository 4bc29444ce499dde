"""The hooks of a search or a training: a base class of no-ops."""

from typing import Any, Generic, TypeVar

L = TypeVar("L")
R = TypeVar("R")
E = TypeVar("E")


class LoopHook(Generic[L, R, E]):
    """Things to do at certain times of a search or a training; what is raised stops it.

    A hook that changes the loop must do so by what it reads from the loop alone, so that one that was killed
    and resumed goes the same way.
    """

    def check(self, loop: L) -> None:
        """When the parts are put together; raises a CompositionError if this hook does not fit them."""

    def on_start(self, loop: L) -> None:
        """Before the first step of this process, after the state of an earlier one has been loaded."""

    def on_epoch_start(self, loop: L) -> None:
        """Before the first step of an epoch; again when a process goes on in the middle of it."""

    def on_step_end(self, loop: L) -> None:
        """After each step, when `loop.step` counts it already."""

    def on_epoch_end(self, loop: L, record: R) -> None:
        """After each epoch, when it has been measured and recorded."""

    def on_select(self, loop: L) -> None:
        """After the last epoch, before the final selection or measurement, which may take a while."""

    def on_end(self, loop: L, result: E) -> None:
        """When all is done and written."""


AnyHook = LoopHook[Any, Any, Any]
"""A hook of any loop."""
