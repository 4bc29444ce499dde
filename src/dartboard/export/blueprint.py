"""A network as what a written file has of it: the tables, and its weights under the file's own names."""

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import getsource
from textwrap import dedent

import torch
from torch import Tensor, nn

from dartboard.errors import ModelError
from dartboard.export.library import library
from dartboard.nn.cell import CellModule
from dartboard.nn.network import CellNet
from dartboard.nn.ops import PythonSource, source_of
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
            call = "Zero" if line.place is None else _source(name, _op(module, line.place)).builder
            calls.setdefault(name, set()).add(call)
    return {name: _one(name, found) for name, found in sorted(calls.items())}


def op_blocks(net: CellNet) -> dict[str, str]:
    """The source of the functions and classes that ops of the network bring along, by name.

    Raises:
        ModelError: If one has the name of a block that every written file may have.
    """
    blocks: dict[str, str] = {}
    for module in _cells(net):
        for line in lines(module.cell):
            source = None if line.place is None else source_of(_op(module, line.place))
            for block in source.blocks if source is not None else ():
                if block.__name__ in library():
                    raise ModelError(
                        f"the op {line.entry[2]!r} is written with a block called {block.__name__!r}, and "
                        "dartboard has one of that name; give it another"
                    )
                blocks[block.__name__] = dedent(getsource(block)).rstrip()
    return blocks


def _source(name: str, op: nn.Module) -> PythonSource:
    source = source_of(op)
    if source is None:
        raise _unknown(name)
    return source


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
            source = source_of(_op(module, line.place))
            renames = {} if source is None else source.renames
            yield from ((f"{start}.{part}", f"{place}.{other}") for part, other in renames.items())


def is_adapted(cell: Cell) -> bool:
    """Whether a cell has convolutions around it."""
    return cell.adapt or cell.project


def _cells(net: CellNet) -> Iterator[CellModule]:
    return (module for module in net.slots if isinstance(module, CellModule))


def _op(module: CellModule, place: int) -> nn.Module:
    ops_there: nn.ModuleDict = module.edges[place]  # type: ignore[assignment]
    return ops_there[module.cell.edges[place].ops[0]]
