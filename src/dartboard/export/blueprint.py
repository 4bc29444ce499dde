"""A network as what a written file has of it: the tables, and its weights under the file's own names."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dartboard.errors import ModelError
from dartboard.nn import ops
from dartboard.nn.cell import CellModule
from dartboard.nn.network import CellNet
from dartboard.space.spec import NONE, Cell

BETWEEN = "between"
"""The kind of a block that stands between stages of cells."""

Entry = tuple[int, int, str]
"""An edge: source, target and op."""


@dataclass(frozen=True)
class Line:
    """An edge of a written cell, and which edge of the network's cell it is; None for zeros put in."""

    entry: Entry
    place: int | None


def lines(cell: Cell) -> list[Line]:
    """The edges that a written cell has: absent ones only where something has to stand for them."""
    found = []
    for node in cell.inner:
        entering = cell.entering(node)
        if node not in cell.concat:
            entering = tuple(place for place in entering if cell.edges[place].ops != (NONE,))
        edges = [(cell.edges[place], place) for place in entering]
        found += [Line((edge.source, node, edge.ops[0]), place) for edge, place in edges]
        if not entering:
            found.append(Line((0, node, NONE), None))
    return found


def _separable(op: ops.Separable) -> str:
    layer = op.first.depthwise
    kernel, dilation = layer.kernel_size[0], layer.dilation[0]
    if op.second is None:
        return f"partial(Dilated, kernel={kernel}, dilation={dilation})"
    more = f", dilation={dilation}" if dilation != 1 else ""
    return f"partial(Separable, kernel={kernel}{more})"


def _pool(name: str) -> Callable[[ops.MaxPool], str]:
    return lambda op: name if op.norm is None else f"{name}_norm"


CALLS: dict[type[ops.Op], Callable[[Any], str]] = {
    ops.Zero: lambda _: "Zero",
    ops.Identity: lambda _: "identity",
    ops.MaxPool: _pool("max_pool"),
    ops.AvgPool: _pool("avg_pool"),
    ops.ReLUConvNorm: lambda op: f"partial(ReLUConvNorm, kernel={op.conv.kernel_size[0]})",
    ops.ConvNormReLU: lambda op: f"partial(ConvNormReLU, kernel={op.conv.kernel_size[0]})",
    ops.FactorizedConv: lambda op: f"partial(FactorizedConv, kernel={op.rows.kernel_size[1]})",
    ops.FactorizedReduce: lambda _: "FactorizedReduce",
    ops.Separable: _separable,
}
"""How an op is built in a written file, from channels that enter, channels that leave, and stride."""

RENAMED = {ops.MaxPool: {"norm": "1"}, ops.AvgPool: {"norm": "1"}, ops.ConvNormReLU: {"inner": "norm"}}
"""Parts of ops that have another name in a written file."""

SKIPS = {"identity", "FactorizedReduce"}
PROJECTION = "partial(ReLUConvNorm, kernel=1)"


def op_table(net: CellNet) -> dict[str, str]:
    """For each op that a network uses, how it is built in a written file.

    Raises:
        ModelError: If an op is not one that can be written.
    """
    calls: dict[str, set[str]] = {}
    for module in _cells(net):
        for line in lines(module.cell):
            name = line.entry[2]
            call = "Zero" if line.place is None else _call(name, _op(module, line.place))
            calls.setdefault(name, set()).add(call)
    return {name: _one(name, found) for name, found in sorted(calls.items())}


def _call(name: str, op: nn.Module) -> str:
    write = CALLS.get(type(op))  # type: ignore[arg-type]
    if write is None:
        raise _unknown(name)
    call: str = write(op)
    return call


def _one(name: str, calls: set[str]) -> str:
    """The one function that builds what differs from place to place: a skip."""
    if len(calls) == 1:
        return next(iter(calls))
    if calls <= {*SKIPS, PROJECTION}:
        return "skip_or_reduce" if calls <= SKIPS else "skip_connect"
    raise _unknown(name)


def _unknown(name: str) -> ModelError:
    return ModelError(
        f"the op {name!r} is not one that can be written as Python; export the network as onnx, torchscript "
        "or pt2, which take every op"
    )


def weights(net: CellNet) -> dict[str, Tensor]:
    """Parameters and buffers under the names of a written file; batch-norms have scales and shifts."""
    renames = dict(_renames(net))
    found: dict[str, Tensor] = {}
    for name, value in net.state_dict().items():
        start = next((own for own in _starts(name) if own in renames), None)
        if start is not None:
            found[renames[start] + name.removeprefix(start)] = value.detach().cpu().contiguous()
    for name, value in list(found.items()):
        if name.endswith("running_mean"):
            scale = name.replace("running_mean", "weight")
            found.setdefault(scale, torch.ones_like(value))
            found.setdefault(name.replace("running_mean", "bias"), torch.zeros_like(value))
    return found


def _starts(name: str) -> Iterator[str]:
    """Every beginning of a dotted name, the longest first."""
    parts = name.split(".")
    return (".".join(parts[:count]) for count in range(len(parts), 0, -1))


def _renames(net: CellNet) -> Iterator[tuple[str, str]]:
    """Beginnings of names in the network, and what takes their place."""
    if len(net.stem.stages) == 1:
        yield from (("stem.stages.0.0", "stem.conv"), ("stem.stages.0.1", "stem.norm"))
    else:
        yield from (("stem.stages.0", "stem.first"), ("stem.stages.1", "stem.second"))
    for index, module in enumerate(net.slots):
        own, new = f"slots.{index}", f"blocks.{index}"
        yield own, new
        if isinstance(module, CellModule):
            inner = f"{new}.cell" if is_adapted(module.cell) else new
            yield from _op_renames(module, own, inner)
    yield from (("head.norm", "norm.0"), ("head.linear", "head"))


def _op_renames(module: CellModule, own: str, new: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines(module.cell)):
        if line.place is not None:
            start, place = f"{own}.edges.{line.place}.{line.entry[2]}", f"{new}.ops.{number}"
            yield start, place
            renamed = RENAMED.get(type(_op(module, line.place)), {})
            yield from ((f"{start}.{part}", f"{place}.{other}") for part, other in renamed.items())


def is_adapted(cell: Cell) -> bool:
    """Whether a cell has convolutions around it."""
    return cell.adapt or cell.project


def _cells(net: CellNet) -> Iterator[CellModule]:
    return (module for module in net.slots if isinstance(module, CellModule))


def _op(module: CellModule, place: int) -> nn.Module:
    ops_there: nn.ModuleDict = module.edges[place]  # type: ignore[assignment]
    return ops_there[module.cell.edges[place].ops[0]]
