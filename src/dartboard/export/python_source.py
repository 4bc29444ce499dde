"""The source of a Python file that builds a network and needs nothing but torch.

The file is put together from the functions and classes in `dartboard.export.blocks`, which are read as text,
from those that ops bring along, and from tables that describe the network.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getsource
from itertools import groupby, pairwise
from pathlib import Path, PurePath
from textwrap import dedent, wrap

from torch import nn

from dartboard.errors import ModelError
from dartboard.export.formats import BRIGHTEST, Metadata, model_metadata
from dartboard.nn.cell import CellModule
from dartboard.nn.costs import count_parameters
from dartboard.nn.model_file import Model
from dartboard.nn.network import CellNet
from dartboard.nn.ops import source_of
from dartboard.space.spec import NONE, Cell, SearchSpace

LINE_LENGTH = 110
BLOCK_FILES = ("ops", "cells", "network")
STANDARD_IMPORTS = {
    "json": "import json",
    "sys": "import sys",
    "Sequence": "from collections.abc import Sequence",
    "partial": "from functools import partial",
    "reduce": "from functools import reduce",
    "Path": "from pathlib import Path",
    "Any": "from typing import Any",
    "NamedTuple": "from typing import NamedTuple",
}
TORCH_IMPORTS = {
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "build_model_with_cfg": "from timm.models import build_model_with_cfg",
    "generate_default_cfgs": "from timm.models import generate_default_cfgs",
    "register_model": "from timm.models import register_model",
    "Tensor": "from torch import Tensor",
    "nn": "from torch import nn",
}
"""The import of each name, in the order in which they are written."""

ENTRY_POINTS = ("build", "preprocess", "main")
"""The functions that every exported file has."""
MAIN = 'if __name__ == "__main__":\n    main(sys.argv[1:])'
BETWEEN = "between"
"""The kind of the blocks between stages of cells."""
REDUCTIONS = {"residual": "ResidualReduction", "pool": "PoolReduction"}
STEMS = {"small": "Stem, {}, stride=1", "half": "Stem, {}, stride=2", "imagenet": "ImageNetStem, {}"}
SKIPS = {"identity", "FactorizedReduce"}
PROJECTION = "partial(ReLUConvNorm, kernel=1)"
SCALES = {"MEAN": "mean", "DEVIATION": "std"}
NOT_WRITABLE = (
    "the op {!r} is not one that can be written as Python; export the network as onnx, torchscript or pt2, "
    "which take every op"
)

DOCSTRING = """A trained network that needs nothing but torch; written by dartboard.

{about}

    from {name} import build, preprocess

    net = build()  # with the weights in {name}.safetensors, next to this file
    logits = net(preprocess(images))  # images: pixels, uint8 [N, {shape}]

Run it with the names of image files to print their classes.
"""


def write_source(
    model: Model,
    name: str,
    *,
    docstring: str = DOCSTRING,
    entry_points: Sequence[str] = ENTRY_POINTS,
    extra_code: Sequence[str] = (),
) -> str:
    """The source of a Python file that builds a model's network.

    Args:
        model: The model, its network discrete.
        name: Name of the file, without its suffix.
        docstring: Template of its docstring; see `module_docstring`.
        entry_points: The blocks that it has, besides those that they need.
        extra_code: Code at the end.

    Raises:
        ModelError: If the network has a part that cannot be written as Python.
    """
    net = model.net
    if net.config.partial != 1:
        raise ModelError(
            f"a network that passes one in {net.config.partial} channels cannot be written as Python; export "
            "it as onnx, torchscript or pt2"
        )
    builders, op_code = op_sources(net)
    rows = "".join(f"    {quoted(op)}: {builder},\n" for op, builder in builders.items())
    ops = f"# How each op is built from input channels, output channels and stride.\nOPS = {{\n{rows}}}"
    kinds, stem = kind_table(net.space), stem_line(net)
    used = required_blocks({*entry_points, *names_in(ast.parse("\n".join((*op_code, ops, kinds, stem))))})
    by_file: dict[str, set[str]] = {file: set() for file in BLOCK_FILES}
    for block in used:
        by_file[blocks()[block].file].add(block)
    stems = used & {"Stem", "ImageNetStem"}
    parts = [
        constants(model_metadata(model)),
        *block_sources({"CellSpec"}),
        cell_table(net.space),
        stack_table(net),
        *block_sources(by_file["ops"]),
        *op_code,
        ops,
        *block_sources(by_file["cells"] - {"CellSpec"}),
        kinds,
        *block_sources(stems),
        stem,
        *block_sources(by_file["network"] - stems),
        *extra_code,
        MAIN,
    ]
    return _join(module_docstring(model, name, docstring), parts)


def _join(docstring: str, parts: Sequence[str]) -> str:
    """Code with two empty lines around functions and classes, and one between tables."""
    code = parts[0]
    for before, part in pairwise(parts):
        spaced = part == MAIN or any(piece.startswith(("def ", "class ", "@")) for piece in (before, part))
        code += ("\n\n\n" if spaced else "\n\n") + part
    space = "\n\n\n" if parts[0].startswith(("def ", "class ")) else "\n\n"
    return f"{docstring}\n\n{import_lines(code)}{space}{code}\n"


# Blocks: functions and classes as text.


@dataclass(frozen=True)
class Block:
    """A function or a class: the file it is from, its source and the names in it."""

    file: str
    source: str
    names: frozenset[str]


@cache
def blocks() -> dict[str, Block]:
    """All blocks by name, in an order in which each can follow those before it."""
    by_name: dict[str, Block] = {}
    for file in BLOCK_FILES:
        text = (Path(__file__).parent / "blocks" / f"{file}.py").read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                lines = text.splitlines()[node.lineno - 1 : node.end_lineno]  # with comments at line ends
                by_name[node.name] = Block(file, "\n".join(lines), names_in(node))
    return by_name


def names_in(tree: ast.AST) -> frozenset[str]:
    """Every name that a piece of code reads."""
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def required_blocks(names: Iterable[str]) -> set[str]:
    """The blocks of these names and those that they need."""
    required: set[str] = set()
    queue = [name for name in names if name in blocks()]
    while queue:
        name = queue.pop()
        if name not in required:
            required.add(name)
            queue += [other for other in blocks()[name].names if other in blocks()]
    return required


def block_sources(names: Iterable[str]) -> list[str]:
    """The sources of blocks, in the order of `blocks`."""
    chosen = set(names)
    return [block.source for name, block in blocks().items() if name in chosen]


def import_lines(code: str) -> str:
    """The imports of the names that a piece of code uses, with one line for each module."""
    names = names_in(ast.parse(code))
    groups = []
    for table in (STANDARD_IMPORTS, TORCH_IMPORTS):
        modules: dict[str, list[str]] = {}
        for name, line in table.items():
            if name in names:
                module, _, imported = (
                    line.rpartition(" import ") if line.startswith("from ") else (line, "", "")
                )
                modules.setdefault(module, []).append(imported)
        lines = [f"{module} import {', '.join(n)}" if n[0] else module for module, n in modules.items()]
        groups.append("\n".join(lines))
    return "\n\n".join(group for group in groups if group)


# Ops.


@dataclass(frozen=True)
class ExportedEdge:
    """An edge of an exported cell with its index in the network's cell; None for zeros that are put in."""

    source: int
    target: int
    op: str
    index: int | None


def exported_edges(cell: Cell) -> list[ExportedEdge]:
    """The edges of an exported cell: absent ones only for nodes that would have no input without them."""
    edges = []
    for node in cell.inner:
        entering = cell.entering(node)
        if node not in cell.concat:
            entering = tuple(index for index in entering if cell.edges[index].ops != (NONE,))
        edges += [
            ExportedEdge(cell.edges[index].source, node, cell.edges[index].ops[0], index)
            for index in entering
        ]
        if not entering:
            edges.append(ExportedEdge(0, node, NONE, None))
    return edges


def op_on_edge(module: CellModule, index: int) -> nn.Module:
    """The op on an edge of a discrete cell."""
    candidates: nn.ModuleDict = module.edges[index]  # type: ignore[assignment]
    return candidates[module.cell.edges[index].ops[0]]


def op_sources(net: CellNet) -> tuple[dict[str, str], list[str]]:
    """For each op that a network uses the expression that builds it, and the code that ops bring along.

    Raises:
        ModelError: If an op cannot be written as Python, or brings a block along whose name is taken.
    """
    expressions: dict[str, set[str]] = {}
    brought: dict[str, tuple[str, Callable[..., nn.Module]]] = {}  # blocks by name, each with its op
    for module in net.slots:
        if not isinstance(module, CellModule):
            continue
        for edge in exported_edges(module.cell):
            if edge.index is None:  # zeros that are put in
                expressions.setdefault(edge.op, set()).add("Zero")
                continue
            source = source_of(op_on_edge(module, edge.index))
            if source is None:
                raise ModelError(NOT_WRITABLE.format(edge.op))
            expressions.setdefault(edge.op, set()).add(source.builder)
            for block in source.blocks:
                brought[block.__name__] = edge.op, block
    builders = {}
    for op, different in sorted(expressions.items()):
        if len(different) == 1:
            builders[op] = next(iter(different))
        elif different <= {*SKIPS, PROJECTION}:  # only a skip can be built differently from edge to edge
            builders[op] = "skip_or_reduce" if different <= SKIPS else "skip_connect"
        else:
            raise ModelError(NOT_WRITABLE.format(op))
    for name, (op, _) in brought.items():
        if name in blocks():
            raise ModelError(
                f"the op {op!r} is written with a block called {name!r}, and dartboard has one of that name; "
                "give it another"
            )
    return builders, [dedent(getsource(block)).rstrip() for _, block in brought.values()]


# Tables, as text that a formatter leaves alone.


def module_docstring(model: Model, name: str, template: str = DOCSTRING) -> str:
    """The docstring of the file: `template` with a summary of the network, its name and its input shape."""
    config, space = model.net.config, model.net.space
    shape = "x".join(map(str, config.input))
    data = model.facts.get("data")
    trained = f", trained on {_docstring_safe(PurePath(data).name)}" if isinstance(data, str) else ""
    about = (
        f"{len(space.slots)} blocks of space {_docstring_safe(space.name)}, {config.channels} channels "
        f"at first, {count_parameters(model.net):,} parameters, {len(model.classes)} classes, images of "
        f"{shape}{trained}."
    )
    sizes = ", ".join(map(str, config.input))
    return f'"""{template.format(about=chr(10).join(wrap(about, LINE_LENGTH)), name=name, shape=sizes)}"""'


def _docstring_safe(text: str) -> str:
    """A text that cannot end a docstring."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())


def constants(metadata: Metadata) -> str:
    """The metadata as constants."""
    scales = [f"{name} = {_tuple(map(repr, getattr(metadata, key)), 20)}" for name, key in SCALES.items()]
    lines = [
        f"CLASSES = {_tuple(map(quoted, metadata.classes), len('CLASSES = '))}",
        f"INPUT = {metadata.input}  # channels, height and width of the training images",
        f"CENTRE = {metadata.crop_pct!r}  # fraction of the sides of an image that is used, centered",
        "# Mean and standard deviation of each channel, for pixels from 0 to 255 and for pixels from 0 to 1.",
        *scales,
        *(f"UNIT_{name} = tuple(value / {BRIGHTEST} for value in {name})" for name in SCALES),
        'WEIGHTS = Path(__file__).with_suffix(".safetensors")',
    ]
    return "\n".join(lines)


def cell_table(space: SearchSpace) -> str:
    """The cells, with a line for each edge."""
    cells = ""
    for name, cell in space.groups:
        edges = "".join(
            f'            ({edge.source}, {edge.target}, "{edge.op}"),\n' for edge in exported_edges(cell)
        )
        rows = [f"inputs={cell.inputs}", f"nodes={cell.nodes}", f"edges=(\n{edges}        )"]
        rows += [f"output={cell.output}"]
        rows += [f"concat={cell.concat}"] if cell.concat else []
        rows += [f"{option}=True" for option in ("adapt", "project") if getattr(cell, option)]
        spec = "CellSpec(\n" + "".join(f"        {row},\n" for row in rows) + "    )"
        cells += f"    {quoted(name)}: {spec},\n"
    return "# The cells; an edge is its source, its target and its op.\nCELLS = {\n" + cells + "}"


def stack_table(net: CellNet) -> str:
    """The blocks in their order, runs of equal ones on one line."""
    slots = [
        (slot.group or BETWEEN, net.config.channels * slot.width, slot.stride) for slot in net.space.slots
    ]
    text = "# The blocks from stem to classifier: kind, channels and stride.\nSTACK = (\n"
    for (kind, width, stride), group in groupby(slots):
        entry, count = f"({quoted(kind)}, {width}, {stride})", len(list(group))
        text += f"    {entry},\n" if count == 1 else f"    *[{entry}] * {count},\n"
    norm = f"HEAD_NORM = {net.space.stack.head_norm}"
    return f"{text})\n{norm}  # whether a batch-norm and a ReLU precede the classifier"


def kind_table(space: SearchSpace) -> str:
    """How each kind of block is built."""
    block = "AdaptedCell" if any(is_adapted(cell) for _, cell in space.groups) else "CellBlock"
    text = f"KINDS = {{kind: partial({block}, spec) for kind, spec in CELLS.items()}}"
    if space.stack.reduce in REDUCTIONS:
        text += f'\nKINDS["{BETWEEN}"] = {REDUCTIONS[space.stack.reduce]}'
    return text


def is_adapted(cell: Cell) -> bool:
    """Whether a cell has convolutions around it."""
    return cell.adapt or cell.project


def stem_line(net: CellNet) -> str:
    """How the stem is built from the channels of an image.

    Raises:
        ModelError: If the stem cannot be written as Python.
    """
    name, stack = net.config.stem_name, net.space.stack
    if name not in STEMS:
        raise ModelError(
            f"the stem {name!r} is not one that can be written as Python; export the network as onnx, "
            "torchscript or pt2, which take every stem"
        )
    stem = STEMS[name].format(f"channels={net.stem.channels}")
    return f"make_stem = partial({stem}, relu={stack.stem_relu})"


def quoted(text: str) -> str:
    """A string literal, in double quotes as formatters have it."""
    literal = repr(text)
    if "'" not in text and '"' not in text:
        return f'"{literal[1:-1]}"'
    return literal


def _tuple(values: Iterable[str], before: int) -> str:
    """A tuple on one line, or with a line for each value where that is too long."""
    values = list(values)
    line = f"({', '.join(values)}{',' if len(values) == 1 else ''})"
    if before + len(line) <= LINE_LENGTH:
        return line
    return "(\n" + "".join(f"    {value},\n" for value in values) + ")"
