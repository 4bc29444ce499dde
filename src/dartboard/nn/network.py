"""The network builder: one class for supernets and for discrete networks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, overload

import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.cell import BatchRows, CellModule, CellOptions, FeatureInfo
from dartboard.nn.fast.depthwise import channels_last
from dartboard.nn.heads import STEMS, AuxiliaryHead, Classifier, PoolReduction, ResidualReduction
from dartboard.nn.mixture import Live, Mixture, uniform
from dartboard.space.spec import SearchSpace, Slot

IMAGENET_SIZE = 128
"""From this many pixels on, the automatic stem is the one for ImageNet."""


@dataclass(frozen=True)
class NetConfig:
    """Everything about a network that is not its architecture.

    Args:
        channels: The first stage's channels.
        classes: How many classes there are.
        input: Channels, height and width of the images.
        stem: A registered stem; `auto` chooses by the size of the images.
        auxiliary: Whether there is an auxiliary classifier after the last reduction.
        drop_path: The probability with which an edge is dropped for an example, in training.
        partial: Only one in this many channels passes the candidates (PC-DARTS' K).
        search: Build the network as in a search: batch-norms without scale and shift, and one after each
            pooling where the space says so. Built so, the restriction of a supernet equals the supernet
            under a one-hot mixture.
        mix: `fused` is the default and fast; `plain` is the formula as papers write it.

    Examples:
        >>> from dartboard import NetConfig
        >>> NetConfig(channels=36, classes=100, input=(3, 224, 224)).stem_name
        'imagenet'
    """

    channels: int = 16
    classes: int = 10
    input: tuple[int, int, int] = (3, 32, 32)
    stem: str = "auto"
    auxiliary: bool = False
    drop_path: float = 0.0
    partial: int = 1
    search: bool = False
    mix: Literal["fused", "plain"] = "fused"

    def __post_init__(self) -> None:
        for name in ("channels", "classes", "partial"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise NetworkError(f"{name} must be a whole number, not {value!r}")
            if value < 1:
                raise NetworkError(f"{name} must be at least 1, not {value}")
        if len(tuple(self.input)) != 3 or min(self.input) < 1:
            raise NetworkError(f"input is channels, height and width, all positive, not {self.input}")
        _check_probability(self.drop_path)
        if self.mix not in ("fused", "plain"):
            raise NetworkError(f"mix must be 'fused' or 'plain', not {self.mix!r}")

    @property
    def stem_name(self) -> str:
        """The stem, `auto` resolved."""
        if self.stem != "auto":
            return self.stem
        return "imagenet" if min(self.input[1:]) >= IMAGENET_SIZE else "small"


class CellNet(nn.Module):
    """The network of a space: every candidate in a supernet, one op an edge where nothing is left to choose.

    Args:
        space: Specification of the cells and their stack.
        config: Everything else: channels, classes, size of the images.

    Attributes:
        drop_path: The probability with which an edge is dropped for an example, in training; starts as
            the configuration's, and a schedule may set it.
        auxiliary_slot: The slot whose output the auxiliary head reads: the last that halves the resolution.

    Examples:
        >>> import torch
        >>> from dartboard import CellNet, NetConfig, get_space
        >>> net = CellNet(get_space("nano"), NetConfig(channels=4, input=(1, 8, 8), search=True))
        >>> net(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 10])
    """

    def __init__(self, space: SearchSpace, config: NetConfig) -> None:
        super().__init__()
        self.space, self.config = space, config
        self._drop_path = config.drop_path
        image, stack = config.input[0], space.stack
        self.stem = STEMS[config.stem_name](image, config.channels, stack.stem)
        features = [FeatureInfo(self.stem.channels, scale) for scale in self.stem.scales]
        _check_size(space, config, features[-1].scale)
        self.slots = nn.ModuleList()
        for slot in space.slots:
            module, feature = self._build(slot, features[-2:])
            self.slots.append(module)
            features.append(feature)
        strided = [index for index, slot in enumerate(space.slots) if slot.stride == 2]
        self.auxiliary_slot = strided[-1] if strided else len(space.slots) - 1
        channels = features[len(self.stem.scales) + self.auxiliary_slot].channels
        self.auxiliary = AuxiliaryHead(channels, config.classes) if config.auxiliary else None
        self.head = Classifier(features[-1].channels, config.classes, norm=stack.head_norm)

    @property
    def drop_path(self) -> float:
        return self._drop_path

    @drop_path.setter
    def drop_path(self, probability: float) -> None:
        _check_probability(probability)
        self._drop_path = probability

    def _build(self, slot: Slot, features: list[FeatureInfo]) -> tuple[nn.Module, FeatureInfo]:
        """The module of a slot that reads `features`, and what leaves it."""
        config, stack = self.config, self.space.stack
        width, last = config.channels * slot.width, features[-1]
        if not slot.group:
            if stack.reduce == "residual":
                return ResidualReduction(last.channels, width), FeatureInfo(width, 2 * last.scale)
            return PoolReduction(), FeatureInfo(last.channels, 2 * last.scale)
        cell = self.space.cells[slot.group]
        pool_norm = stack.pool_norm and config.search
        plain = config.mix == "plain"
        options = CellOptions(width, slot.stride, not config.search, pool_norm, config.partial, plain)
        module = CellModule(cell, features[-cell.inputs :], options)
        return module, module.feature_info

    @overload
    def forward(
        self, x: Tensor, mixture: Mixture | None = None, *, rows: BatchRows | None = None
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Tensor,
        mixture: Mixture | None = None,
        *,
        auxiliary: Literal[True],
        rows: BatchRows | None = None,
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self,
        x: Tensor,
        mixture: Mixture | None = None,
        *,
        auxiliary: bool = False,
        rows: BatchRows | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits [B, classes], or with `auxiliary` those and the auxiliary classifier's.

        Args:
            x: Images [B, C, H, W].
            mixture: How candidates are blended; None for equal weights, which in a discrete network is
                no choice at all.
            auxiliary: Whether to compute the auxiliary classifier too; the network must have one.
            rows: Where the images lie in a larger batch, for which random draws are made; None for a batch
                by itself.
        """
        if mixture is None:
            mixture = uniform(self.space, like=x)
        if self.config.mix == "fused":
            x = channels_last(x)
        states, auxiliary_input = self.stem(x), None
        if self.space.stack.stem_relu:
            states = [F.relu(state) for state in states]
        for index, module in enumerate(self.slots):
            if isinstance(module, CellModule):
                entering = states[-module.cell.inputs :]
                y = module(entering, mixture.blend(index), self.drop_path, rows)
            else:
                y = module(states[-1])
            states = [states[-1], y]
            auxiliary_input = y if index == self.auxiliary_slot else auxiliary_input
        logits: Tensor = self.head(states[-1])
        if not auxiliary:
            return logits
        if self.auxiliary is None:
            raise NetworkError("this network has no auxiliary head; build it with NetConfig(auxiliary=True)")
        return logits, self.auxiliary(auxiliary_input)

    def prune(self, live: Mapping[str, Live]) -> list[nn.Parameter]:
        """Removes for good all candidates but those in `live`, by group; mixtures must not name them again.

        Returns:
            The parameters of the removed candidates, to be taken out of their optimizer.
        """
        removed: list[nn.Parameter] = []
        for slot, module in zip(self.space.slots, self.slots, strict=True):
            if isinstance(module, CellModule):
                removed += module.prune(live[slot.group])
        return removed


def _check_probability(drop_path: float) -> None:
    if not 0 <= drop_path < 1:
        raise NetworkError(f"drop_path must be in [0, 1), not {drop_path}")


def _check_size(space: SearchSpace, config: NetConfig, scale: int) -> None:
    """Raises if a reduction would have fewer than two pixels a side to halve."""
    reductions = sum(slot.stride == 2 for slot in space.slots)
    least = scale * 2**reductions
    if min(config.input[1:]) < least:
        height, width = config.input[1:]
        raise NetworkError(
            f"images of {height}x{width} are too small for the stem {config.stem_name!r} and the "
            f"{reductions} reductions of space {space.name!r}; use at least {least}x{least}"
        )
