"""Spaces in files: an exact JSON form, and a short YAML form to write by hand.

In YAML a space reads like this:

    name: mine
    stack: {cells: 6}              # any argument of `Stack`
    cell:                          # serves all groups; or `cells:` with one of these for each group
      inputs: 2
      nodes: 5
      ops: [none, skip_connect, sep_conv_3x3, max_pool_3x3]
      edges: all                   # from every node to every later inner one; or a list of
                                   # [source, target] and [source, target, [ops of its own]]
      keep: 2                      # edges a node keeps; without it all stay
      output: [2, 3, 4]

`joins`, `concat`, `adapt` and `project` are those of `Cell`; `weighted` is that of `Contest`.
"""

import json
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from dartboard.errors import RunError, SpaceError, one_line, short_repr, validation_message
from dartboard.space.catalog import SPACES, dense_edges, get_space, keep_per_node, stacked
from dartboard.space.spec import MAX_NODES, Cell, Contest, Edge, SearchSpace, Stack, check_limit
from dartboard.utils import yaml_text
from dartboard.utils.checksums import read_file

_STACK_KEYS = tuple(field.name for field in fields(Stack))


class _SpaceText(BaseModel):
    """A space as its JSON has it: the groups as an object, everything else as the dataclasses are."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    cells: dict[str, Cell]
    stack: Stack


def space_to_json(space: SearchSpace) -> str:
    """The space as JSON on one line; values at their defaults are left out."""
    text = _SpaceText(name=space.name, cells=dict(space.groups), stack=space.stack)
    return text.model_dump_json(exclude_defaults=True)


def space_from_json(text: str) -> SearchSpace:
    """The space of a JSON text, equal to the one it was written from.

    Raises:
        SpaceError: If the text is not JSON, has a key missing or unknown, or the space is impossible.
    """
    try:
        space = _SpaceText.model_validate_json(text)
        return SearchSpace(space.name, tuple(space.cells.items()), space.stack)
    except ValidationError as error:
        keys = {
            "top": tuple(_SpaceText.model_fields),
            "stack": _STACK_KEYS,
            "edges": tuple(field.name for field in fields(Edge)),
            "contests": tuple(field.name for field in fields(Contest)),
            "": tuple(field.name for field in fields(Cell)),
        }
        raise SpaceError(f"space JSON: {validation_message(error, keys)}") from None
    except SpaceError as error:
        raise SpaceError(f"space JSON: {error}") from None


def _edge_row(row: object) -> object:
    """An edge with its ops, which are empty for those of the cell; tuples, as strict validation wants."""
    if isinstance(row, list) and len(row) in (2, 3):
        ops = row[2] if len(row) == 3 else ()
        return (*row[:2], tuple(ops) if isinstance(ops, list) else ops)
    raise ValueError(f"expected [source, target] or [source, target, [ops]], got {short_repr(row)}")


def _edge_rows(rows: object) -> object:
    if rows == "all":
        return None
    if isinstance(rows, list):
        return tuple(rows)
    raise ValueError(
        f"expected 'all' or a list of [source, target] or [source, target, [ops]], got {short_repr(rows)}"
    )


_Ops = tuple[str, ...]
_EdgeRow = Annotated[tuple[int, int, _Ops], BeforeValidator(_edge_row)]
_EdgeRows = Annotated[tuple[_EdgeRow, ...] | None, BeforeValidator(_edge_rows)]


class _ShortCell(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    inputs: int
    nodes: int
    output: tuple[int, ...]
    ops: _Ops = ()
    edges: _EdgeRows = None
    keep: int | None = None
    weighted: bool = False
    joins: tuple[int, ...] = ()
    concat: tuple[int, ...] = ()
    adapt: bool = True
    project: bool = False

    def build(self) -> Cell:
        """The cell."""
        check_limit("the nodes of a cell", self.nodes, MAX_NODES)
        if self.edges is None:
            edges = dense_edges(self.nodes, self.ops, first=self.inputs)
        else:
            edges = tuple(Edge(source, target, ops or self.ops) for source, target, ops in self.edges)
        if self.weighted and self.keep is None:
            raise SpaceError("`weighted` says how edges win a place; give `keep`, the number of places, too")
        flags = {"adapt": self.adapt, "project": self.project}
        cell = Cell(self.inputs, self.nodes, edges, self.output, (), self.joins, self.concat, **flags)
        if self.keep is None:
            return cell
        most = max(Counter(edge.target for edge in edges).values(), default=0)
        if self.keep > most:  # early nodes may have fewer edges, but not all nodes
            raise SpaceError(f"no node has {self.keep} edges to keep: the most that enter one are {most}")
        return replace(cell, contests=keep_per_node(edges, self.keep, weighted=self.weighted))


class _ShortSpace(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    stack: Stack
    cell: _ShortCell | None = None
    cells: dict[str, _ShortCell] | None = None

    def build(self) -> SearchSpace:
        """The space."""
        if self.cell is not None and self.cells is None:
            return stacked(self.name, _build_cell("cell", self.cell), self.stack)
        if self.cells is not None and self.cell is None:
            groups = tuple((name, _build_cell(f"cells.{name}", cell)) for name, cell in self.cells.items())
            return SearchSpace(self.name, groups, self.stack)
        raise SpaceError("expected either `cell`, for all groups, or `cells`, with one for each group")


def _build_cell(key: str, cell: _ShortCell) -> Cell:
    try:
        return cell.build()
    except SpaceError as error:
        raise SpaceError(f"{key}: {error}") from None


def space_from_yaml(text: str) -> SearchSpace:
    """The space of a text in the short YAML form.

    Raises:
        SpaceError: If the text is not YAML, has a key missing or unknown, or the space is impossible.
    """
    try:
        data = yaml_text.load(text)
        as_json = json.dumps(data, default=str)
    except (TypeError, ValueError, RecursionError) as error:  # not YAML, odd keys, depth
        raise SpaceError(f"space YAML: {one_line(error)}") from None
    top = tuple(_ShortSpace.model_fields)
    if not isinstance(data, dict):
        raise SpaceError(f"space YAML: expected the keys {', '.join(top)}; got {short_repr(data)}")
    try:
        return _ShortSpace.model_validate_json(as_json).build()
    except ValidationError as error:
        keys = {"top": top, "stack": _STACK_KEYS, "": tuple(_ShortCell.model_fields)}
        raise SpaceError(f"space YAML: {validation_message(error, keys)}") from None
    except SpaceError as error:
        raise SpaceError(f"space YAML: {error}") from None


def load_space(path_or_name: str | Path, *, root: Path | None = None) -> SearchSpace:
    """The space of a catalog name, a .yaml or .yml file in the short form, or a .json file.

    Args:
        path_or_name: The file or the name.
        root: The run that a file belongs to; None for a file that the user has named.

    Raises:
        UnknownNameError: If it is neither a file name with one of those suffixes nor in the catalog.
        SpaceError: If the file cannot be read, or is not a space.
    """
    path = Path(path_or_name)
    readers = {".yaml": space_from_yaml, ".yml": space_from_yaml, ".json": space_from_json}
    if str(path_or_name) in SPACES or path.suffix not in readers:
        return get_space(str(path_or_name))
    try:
        text = read_file(path, root=root).decode("utf-8")
    except (OSError, RunError, UnicodeDecodeError) as error:
        raise SpaceError(f"cannot read the space {str(path)!r}: {error}") from None
    try:
        return readers[path.suffix](text)
    except SpaceError as error:
        raise SpaceError(f"{path}: {error}") from None
