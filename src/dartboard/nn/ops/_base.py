"""The base of the ops: where an op is put, what it may share with its copies, and the registry.

An op computes `norm(body(x))`, or `body(x)` where it has no norm. The split lets the network fold the last
batch-norm of a candidate into its weight, and `fan_out` lets all copies of an op that leave one node run as
one (see `dartboard.nn.fast.fanout`). A plain `nn.Module` is a valid op too: it is wrapped and simply called.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.registry import Registry


@dataclass(frozen=True)
class Site:
    """Where an op is put.

    Args:
        inputs: Channels that enter.
        outputs: Channels that leave.
        stride: 2 where the op halves the resolution (rounding up), else 1.
        affine: Whether batch-norms have a scale and a shift to learn.
        pool_norm: Whether a pooling ends in a batch-norm.
    """

    inputs: int
    outputs: int
    stride: int = 1
    affine: bool = True
    pool_norm: bool = False

    def norm(self) -> nn.BatchNorm2d:
        """A batch-norm for the output of the op."""
        return nn.BatchNorm2d(self.outputs, affine=self.affine)


@dataclass(eq=False)
class SourceNode:
    """The node that several edges leave: its tensor [B, C, H, W], and what their ops derive from it, once."""

    x: Tensor
    _tiled: dict[int, Tensor] = field(default_factory=dict, init=False)

    @cached_property
    def relu(self) -> Tensor:
        """ReLU of the node."""
        return F.relu(self.x)

    def tiled_relu(self, copies: int) -> Tensor:
        """ReLU of the node with its channels repeated [B, copies * C, H, W]."""
        if copies not in self._tiled:
            self._tiled[copies] = self.relu if copies == 1 else torch.cat([self.relu] * copies, dim=1)
        return self._tiled[copies]


@dataclass(frozen=True)
class PythonSource:
    """How an exported Python file builds an op.

    Args:
        builder: Expression for what is called with the channels that enter, the channels that leave and the
            stride to build the op, such as "partial(ReLUConvNorm, kernel=3)".
        renames: Submodules of the op that have another name in the built module, old name to new.
        blocks: Functions and classes that the expression needs and `dartboard.export.blocks` does not have.
            Their source is copied into the file, where they see torch, nn, F, Tensor, partial and each other.
    """

    builder: str
    renames: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Callable[..., nn.Module], ...] = ()


class Op(nn.Module):
    """Base of the ops that take part in shared and fused computation."""

    norm: nn.BatchNorm2d | None
    bank: Hashable
    """Copies with equal banks can run as one in `fan_out`; None runs alone."""
    shared: ClassVar[bool] = False
    """Whether all copies that leave a node have the same body: no weights, nothing but the input."""
    passthrough: ClassVar[bool] = False
    """Whether the output is the input; drop-path leaves such an op alone."""

    def __init__(self, bank: Hashable = None) -> None:
        super().__init__()
        self.norm = None
        self.bank = None if bank is None else (type(self), bank)

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        return y if self.norm is None else self.norm(y)

    def body(self, x: Tensor) -> Tensor:
        """Everything before the norm."""
        raise NotImplementedError

    @classmethod
    def fan_out(cls, ops: Sequence[Any], source: SourceNode) -> Tensor:
        """The bodies of `ops`, all reading `source`, their channels one after the other; one if shared."""
        if len(ops) > 1 and not cls.shared:
            raise NotImplementedError(f"{cls.__name__} has a bank, but no fan_out for {len(ops)} copies")
        result: Tensor = ops[0].body(source.x)
        return result

    def python_source(self) -> PythonSource | None:
        """How an exported Python file builds the op; None if it cannot be written as Python.

        Only a definition in the class of the op itself counts (see `source_of`): a subclass may compute
        something else than its parent.
        """
        return None


class Wrapped(Op):
    """Any module as an op."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def body(self, x: Tensor) -> Tensor:
        result: Tensor = self.module(x)
        return result


OPS: Registry[Callable[[Site], nn.Module]] = Registry("op", "dartboard.ops")
"""Builders of ops by name."""


def register_op(name: str) -> Callable[[Callable[[Site], nn.Module]], Callable[[Site], nn.Module]]:
    """Decorator that registers a function from a site to a module as the op `name`.

    Examples:
        >>> from torch import nn
        >>> from dartboard import register_op
        >>> @register_op("plain_conv_3x3")
        ... def plain_conv(site):
        ...     '''A convolution alone.'''
        ...     return nn.Conv2d(site.inputs, site.outputs, 3, site.stride, padding=1)
    """
    return OPS.register(name, stacklevel=2)


def build_op(name: str, site: Site) -> Op:
    """The op registered under `name`, built for `site`."""
    module = OPS[name](site)
    return module if isinstance(module, Op) else Wrapped(module)


def source_of(op: nn.Module) -> PythonSource | None:
    """The `python_source` of an op whose class defines it; else None."""
    return op.python_source() if isinstance(op, Op) and "python_source" in vars(type(op)) else None
