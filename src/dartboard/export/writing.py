"""A network as the text of a Python file that needs nothing but torch."""

import ast
from collections.abc import Sequence
from itertools import pairwise

from dartboard.errors import ModelError
from dartboard.export.about import about
from dartboard.export.blueprint import op_blocks, op_table
from dartboard.export.library import closure, imports, library, names_in, texts
from dartboard.export.tables import (
    ALONE,
    cell_table,
    constants,
    kind_table,
    make_stem,
    op_lines,
    stack_table,
    title,
)
from dartboard.nn.model_file import Model
from dartboard.nn.network import CellNet

USED = ("build", "preprocess", "main")
"""What a written file offers."""
MAIN = 'if __name__ == "__main__":\n    main(sys.argv[1:])'


def write_network(
    model: Model, name: str, *, head: str = ALONE, wanted: Sequence[str] = USED, more: Sequence[str] = ()
) -> str:
    """The text of a Python file that builds a model's network.

    Args:
        model: The model, its network discrete.
        name: The name of the file, without its end.
        head: What its docstring says; see `title`.
        wanted: The blocks that it is to have, besides those that they need.
        more: Pieces of code at the end.

    Raises:
        ModelError: If the network has a part that cannot be written.
    """
    net = model.net
    _check(net)
    ops, kinds, stem = op_lines(op_table(net)), kind_table(net.space), make_stem(net)
    blocks = list(op_blocks(net).values())
    used = closure({*wanted, *names_in(ast.parse("\n".join((*blocks, ops, kinds, stem))))})
    plan, stems = {"Plan"}, used & {"Stem", "ImageNetStem"}
    own, cells, around = (used & _from(*files) - plan - stems for files in (["ops"], ["cells"], REST))
    architecture = [constants(about(model)), *texts(plan), cell_table(net.space), stack_table(net)]
    parts = [
        *texts(own),
        *blocks,
        ops,
        *texts(cells),
        kinds,
        *texts(stems),
        stem,
        *texts(around),
        *more,
        MAIN,
    ]
    return _joined(title(model, name, head), architecture + parts)


REST = ("network", "timm")


def _from(*files: str) -> set[str]:
    return {name for name, block in library().items() if block.file in files}


def _check(net: CellNet) -> None:
    if net.config.partial != 1:
        raise ModelError(
            f"a network that passes one in {net.config.partial} channels cannot be written as Python; export "
            "it as onnx, torchscript or pt2"
        )


def _joined(head: str, parts: Sequence[str]) -> str:
    """Pieces of code with two empty lines around functions and classes, and one between tables."""
    code = parts[0]
    for before, part in pairwise(parts):
        spaced = part == MAIN or any(piece.startswith(("def ", "class ", "@")) for piece in (before, part))
        code += ("\n\n\n" if spaced else "\n\n") + part
    lines = imports(code)
    space = "\n\n\n" if parts[0].startswith(("def ", "class ")) else "\n\n"
    return f"{head}\n\n{lines}{space}{code}\n"
