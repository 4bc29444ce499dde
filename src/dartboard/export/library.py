"""The blocks of written networks as text, and what each of them needs."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILES = ("ops", "cells", "network", "timm")
STANDARD = {
    "json": "import json",
    "sys": "import sys",
    "Sequence": "from collections.abc import Sequence",
    "partial": "from functools import partial",
    "reduce": "from functools import reduce",
    "Path": "from pathlib import Path",
    "Any": "from typing import Any",
    "NamedTuple": "from typing import NamedTuple",
}
TORCH = {
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "build_model_with_cfg": "from timm.models import build_model_with_cfg",
    "generate_default_cfgs": "from timm.models import generate_default_cfgs",
    "register_model": "from timm.models import register_model",
    "Tensor": "from torch import Tensor",
    "nn": "from torch import nn",
}
"""What a name stands for, in the order of the imports."""


@dataclass(frozen=True)
class Block:
    """A function or a class: the file it is from, its text and the names in it."""

    file: str
    text: str
    names: frozenset[str]


@cache
def library() -> dict[str, Block]:
    """All blocks by name, in the order in which they can follow each other."""
    found: dict[str, Block] = {}
    for file in FILES:
        text = (Path(__file__).parent / "blocks" / f"{file}.py").read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                own = text.splitlines()[
                    node.lineno - 1 : node.end_lineno
                ]  # comments at the ends of lines too
                found[node.name] = Block(file, "\n".join(own), names_in(node))
    return found


def names_in(tree: ast.AST) -> frozenset[str]:
    """Every name that a piece of code reads."""
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def closure(wanted: Iterable[str]) -> set[str]:
    """The blocks in `wanted` and those that they need."""
    found: set[str] = set()
    left = [name for name in wanted if name in library()]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [other for other in library()[name].names if other in library()]
    return found


def texts(names: Iterable[str]) -> list[str]:
    """The texts of blocks, in the order of the library."""
    wanted = set(names)
    return [block.text for name, block in library().items() if name in wanted]


def imports(code: str) -> str:
    """The lines that import what a piece of code uses."""
    names = names_in(ast.parse(code))
    groups = [_merged(line for name, line in table.items() if name in names) for table in (STANDARD, TORCH)]
    return "\n\n".join("\n".join(group) for group in groups if group)


def _merged(lines: Iterable[str]) -> list[str]:
    """Imports from one module as one line."""
    found: dict[str, list[str]] = {}
    for line in lines:
        start, _, name = line.rpartition(" import ") if line.startswith("from ") else (line, "", "")
        found.setdefault(start, []).append(name)
    return [f"{start} import {', '.join(names)}" if names[0] else start for start, names in found.items()]
