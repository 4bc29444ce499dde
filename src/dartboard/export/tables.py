"""The tables of a written network, as text that a formatter leaves alone."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from textwrap import wrap

from dartboard.errors import ModelError
from dartboard.export.about import BRIGHTEST, About
from dartboard.export.blueprint import BETWEEN, is_adapted, lines
from dartboard.nn.costs import count_parameters
from dartboard.nn.model_file import Model
from dartboard.nn.network import CellNet
from dartboard.space.spec import Cell, SearchSpace

WIDTH = 110
REDUCTIONS = {"residual": "ResidualReduction", "pool": "PoolReduction"}


ALONE = """A trained network that needs nothing but torch; written by dartboard.

{about}

    from {name} import build, preprocess

    net = build()  # with the weights in {name}.safetensors, which stands beside this file
    logits = net(preprocess(images))  # images: pixels, uint8 [N, {shape}]

Run it with the names of image files to hear what is in them.
"""
WITH_TIMM = """A trained network for timm; written by dartboard.

{about}

    import timm
    import {name}  # registers the network

    net = timm.create_model("{name}", pretrained=True)  # weights: {name}.safetensors, beside this file

Run it with the names of image files to hear what is in them.
"""


def title(model: Model, name: str, text: str = ALONE) -> str:
    """The docstring of the file: `text` with what the network is, its name and the shape of its images."""
    config, space = model.net.config, model.net.space
    shape = "x".join(map(str, config.input))
    data = model.facts.get("data")
    trained = f", trained on {_harmless(PurePath(data).name)}" if isinstance(data, str) else ""
    about = (
        f"{len(space.slots)} blocks of space {_harmless(space.name)}, {config.channels} channels "
        f"at first, {count_parameters(model.net):,} parameters, {len(model.classes)} classes, images of "
        f"{shape}{trained}."
    )
    sizes = ", ".join(map(str, config.input))
    return f'"""{text.format(about=chr(10).join(wrap(about, WIDTH)), name=name, shape=sizes)}"""'


def constants(about: About) -> str:
    """What one has to know to use the network."""
    pieces = [
        f"CLASSES = {_tuple([quoted(name) for name in about.classes], len('CLASSES = '))}",
        f"INPUT = {about.input}  # channels, height and width of the images that it was trained on",
        f"CENTRE = {about.crop_pct!r}  # the share of an image's sides, around its middle, that is looked at",
        "# Mean and deviation of each channel, for pixels from 0 to 255 and for pixels from 0 to 1.",
        *(f"{name} = {_tuple([repr(v) for v in getattr(about, own)], 20)}" for name, own in SCALES.items()),
        *(f"UNIT_{name} = tuple(value / {BRIGHTEST} for value in {name})" for name in SCALES),
        'WEIGHTS = Path(__file__).with_suffix(".safetensors")',
    ]
    return "\n".join(pieces)


SCALES = {"MEAN": "mean", "DEVIATION": "std"}


def cell_table(space: SearchSpace) -> str:
    """The plans of the cells, an edge a line."""
    cells = "".join(f"    {quoted(arch)}: {_plan(cell)},\n" for arch, cell in space.archs)
    return "# The cells; an edge is its source, its target and its op.\nCELLS = {\n" + cells + "}"


def _plan(cell: Cell) -> str:
    edges = "".join(
        f'            ({line.entry[0]}, {line.entry[1]}, "{line.entry[2]}"),\n' for line in lines(cell)
    )
    rows = [f"inputs={cell.inputs}", f"nodes={cell.nodes}", f"edges=(\n{edges}        )"]
    rows += [f"output={cell.output}"]
    rows += [f"concat={cell.concat}"] if cell.concat else []
    rows += [f"{name}=True" for name in ("adapt", "project") if getattr(cell, name)]
    return "Plan(\n" + "".join(f"        {row},\n" for row in rows) + "    )"


def stack_table(net: CellNet) -> str:
    """The blocks one after the other, equal ones that follow each other in one line."""
    slots = [
        (slot.arch or BETWEEN, net.config.channels * slot.width, slot.stride) for slot in net.space.slots
    ]
    text = "# The blocks from stem to classifier: what each is, its channels and its stride.\nSTACK = (\n"
    for (kind, width, stride), group in groupby(slots):
        entry, count = f"({quoted(kind)}, {width}, {stride})", len(list(group))
        text += f"    {entry},\n" if count == 1 else f"    *[{entry}] * {count},\n"
    norm = f"HEAD_NORM = {net.space.stack.head_norm}"
    return f"{text})\n{norm}  # whether a batch-norm and a ReLU stand before the classifier"


def op_lines(calls: Mapping[str, str]) -> str:
    """How each op is built."""
    rows = "".join(f"    {quoted(name)}: {call},\n" for name, call in calls.items())
    text = "# How each op is built from the channels that enter, the channels that leave and the stride.\n"
    return text + "OPS = {\n" + rows + "}"


def kind_table(space: SearchSpace) -> str:
    """How each kind of block is built."""
    adapted = any(is_adapted(cell) for _, cell in space.archs)
    block = "AdaptedCell" if adapted else "Cell"
    text = f"KINDS = {{kind: partial({block}, plan) for kind, plan in CELLS.items()}}"
    if space.stack.reduce in REDUCTIONS:
        text += f'\nKINDS["{BETWEEN}"] = {REDUCTIONS[space.stack.reduce]}'
    return text


def make_stem(net: CellNet) -> str:
    """How the stem is built from the channels of an image.

    Raises:
        ModelError: If the stem is not one that can be written.
    """
    name, stack = net.config.stem_name, net.space.stack
    stems = {"small": "Stem, {}, stride=1", "half": "Stem, {}, stride=2", "imagenet": "ImageNetStem, {}"}
    if name not in stems:
        raise ModelError(
            f"the stem {name!r} is not one that can be written as Python; export the network as onnx, "
            "torchscript or pt2, which take every stem"
        )
    call = stems[name].format(f"channels={net.stem.channels}")
    return f"make_stem = partial({call}, relu={stack.stem_relu})"


def quoted(text: str) -> str:
    """A text as it stands in Python, in double quotes as formatters have it."""
    written = repr(text)
    if "'" not in text and '"' not in text:
        return f'"{written[1:-1]}"'
    return written


def _tuple(values: Sequence[str], before: int) -> str:
    """A tuple in one line, or a line a value where that is too long."""
    line = f"({', '.join(values)}{',' if len(values) == 1 else ''})"
    if before + len(line) <= WIDTH:
        return line
    return "(\n" + "".join(f"    {value},\n" for value in values) + ")"


def _harmless(text: str) -> str:
    """A text that can stand in a docstring."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
