"""What the tests of searches and of trainings share: hooks of either, what is compiled, runs opened again."""

from typing import Any

import torch
from torch import nn

from dartboard.engine.hooks import AnyHook
from dartboard.runs import Run


def reopen(run: Run) -> Run:
    """The same run, opened by another process."""
    run.close()
    return Run.resume(run.path)


class StopAt(AnyHook):
    """Stops a loop after a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, loop: Any) -> None:
        if loop.step == self.step:
            loop.stop()


class Kernels(AnyHook):
    """Notes after every step whether deterministic kernels are asked for."""

    def __init__(self) -> None:
        self.seen: set[bool] = set()

    def on_step_end(self, _: Any) -> None:
        self.seen.add(torch.are_deterministic_algorithms_enabled())


class Compiled(nn.Module):
    """A network that passes for a compiled one, and counts how often it is asked."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net, self.calls = net, 0

    def forward(self, *given: Any, **more: Any) -> Any:
        self.calls += 1
        return self.net(*given, **more)
