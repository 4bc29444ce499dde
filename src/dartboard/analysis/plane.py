"""A network that can be put anywhere on a plane through its trained weights."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Literal

import torch
from torch import Tensor, nn

from dartboard.analysis.directions import weights_of
from dartboard.errors import OptionError
from dartboard.nn.network import CellNet

Statistics = Literal["kept", "fresh", "batch"]


class Plane:
    """The points w* + a d1 + b d2 around the weights w* of a network.

    It computes with a network of its own, which is moved in place; with the directions that is three times
    the weights, however many points there are. The network that is given stays as it is.

    Args:
        net: The network whose weights are the centre.
        statistics: What batch-norms normalise by: `kept`, the running statistics that came with the weights;
            `fresh`, statistics that are taken anew at every point from the images of `fresh`; `batch`, the
            statistics of each batch itself.
        fresh: Batches of normalised images; needed for `fresh` alone.
        device: Where to compute.

    Raises:
        OptionError: If there are no images to take statistics from.
    """

    def __init__(
        self,
        net: CellNet,
        *,
        statistics: Statistics = "kept",
        fresh: Sequence[Tensor] = (),
        device: torch.device | str = "cpu",
    ) -> None:
        if statistics == "fresh" and not fresh:
            raise OptionError("statistics=fresh takes statistics from training images, and none are given")
        self.statistics, self.fresh = statistics, fresh
        own: CellNet = deepcopy(net).to(device)
        self.net: CellNet = own.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.net.drop_path = 0.0
        self.net.train(statistics == "batch")
        self.weights: list[Tensor] = list(weights_of(self.net).values())
        self.home = [weight.detach().to(device) for weight in weights_of(net).values()]
        self.directions: tuple[list[Tensor], list[Tensor]] = ([], [])

    def span(self, first: list[Tensor], second: list[Tensor]) -> None:
        """Chooses the directions, each shaped like `weights`."""
        self.directions = first, second

    def at(self, a: float, b: float) -> CellNet:
        """The network at a point, ready to compute; good until the next point is asked for."""
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.home)
            for step, direction in zip((a, b), self.directions, strict=True):
                torch._foreach_add_(self.weights, direction, alpha=step)
        if self.statistics == "fresh":
            self._refresh()
        return self.net

    @torch.no_grad()
    def _refresh(self) -> None:
        """Running statistics become the mean of those of the batches of `fresh`."""
        norms = [own for own in self.net.modules() if isinstance(own, nn.BatchNorm2d)]
        before = [own.momentum for own in norms]
        for own in norms:  # those of a point that overflowed would stay: infinity times 0 is no number
            own.reset_running_stats()
        self.net.train()
        for number, x in enumerate(self.fresh, 1):
            for own in norms:
                own.momentum = 1 / number
            self.net(x)
        for own, momentum in zip(norms, before, strict=True):
            own.momentum = momentum
        self.net.eval()
