"""Genotypes as DARTS writes them: `Genotype(normal=[('sep_conv_3x3', 1), ...], normal_concat=..., ...)`.

Two pairs (op, source) a node, in order of the nodes; node 2 is the first after the two inputs. The
text is taken apart as a syntax tree of literals and is never evaluated.
"""

import ast

from dartboard.errors import GenotypeError, SpaceError, UnknownNameError, join_names
from dartboard.space.genotype import Genotype
from dartboard.space.spec import Cell, Edge

FORM = (
    "Genotype(normal=[('sep_conv_3x3', 1), ...], normal_concat=range(2, 6), reduce=[...], reduce_concat=...)"
)
_GROUPS = ("normal", "reduce")
_KEYS = ("normal", "normal_concat", "reduce", "reduce_concat")


def to_darts(genotype: Genotype) -> str:
    """The genotype as DARTS' text.

    Raises:
        GenotypeError: If there are other cells than normal and reduce, or one that does not have two
            inputs, two edges into every inner node and sums at its nodes.
    """
    if set(genotype.cells) != set(_GROUPS):
        raise GenotypeError(
            f"a DARTS text has the cells normal and reduce; the genotype has {join_names(genotype.cells)}"
        )
    parts = []
    for group in _GROUPS:
        cell = genotype.cells[group]
        if cell.inputs != 2 or cell.joins or cell.concat:
            raise GenotypeError(
                f"{group}: a DARTS text says cells with two inputs whose nodes sum, not this one"
            )
        pairs = []
        for node in cell.inner:
            edges = [cell.edges[index] for index in cell.entering(node)]
            if len(edges) != 2:
                raise GenotypeError(
                    f"{group}, node {node}: a DARTS text has two edges into every node, not {len(edges)}"
                )
            pairs += [(edge.ops[0], edge.source) for edge in edges]
        ends = range(cell.output[0], cell.output[-1] + 1)
        concat = ends if tuple(ends) == cell.output else list(cell.output)
        parts.append(f"{group}={pairs}, {group}_concat={concat}")
    return f"Genotype({', '.join(parts)})"


def from_darts(text: str) -> Genotype:
    """The genotype of a DARTS text; a name and an equals sign may stand before it.

    Raises:
        GenotypeError: If the text is anything else; says where and what was expected.
    """
    parts = _read_keywords(text)
    cells = ((group, _read_cell(group, parts[group], parts[f"{group}_concat"])) for group in _GROUPS)
    return Genotype(tuple(cells))


def _read_keywords(text: str) -> dict[str, ast.expr]:
    """The arguments of the call `Genotype(...)`, which must be those of `_KEYS`."""
    try:
        body = ast.parse(text.strip()).body
    except SyntaxError as error:
        raise _wrong(f"line {error.lineno}, column {error.offset}", f"expected {FORM}; {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:  # a zero byte, brackets thousands deep
        raise _wrong("the text", f"expected {FORM}; {error}") from None
    call = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "Genotype":
        raise _wrong("the text", f"expected {FORM}")
    expected = f"expected the keywords {', '.join(_KEYS)}"
    if call.args:
        raise _wrong(_place(call.args[0]), f"{expected}, got a value without one")
    parts: dict[str, ast.expr] = {}
    for keyword in call.keywords:
        if keyword.arg not in _KEYS:
            raise _wrong(_place(keyword), str(UnknownNameError("keyword", str(keyword.arg), _KEYS)))
        if keyword.arg in parts:
            raise _wrong(_place(keyword), f"the keyword {keyword.arg} is given twice")
        parts[keyword.arg] = keyword.value
    missing = [key for key in _KEYS if key not in parts]
    if missing:
        raise _wrong("the text", f"{expected}; {missing[0]} is missing")
    return parts


def _read_cell(group: str, pairs: ast.expr, concat: ast.expr) -> Cell:
    items = _items(group, pairs)
    if len(items) % 2:
        raise _wrong(group, f"expected two pairs a node, got {len(items)} pairs in all")
    nodes, key = 2 + len(items) // 2, f"{group}_concat"
    match concat:
        case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _] as bounds, keywords=[]):
            numbers = range(*(_number(key, bound) for bound in bounds))
            output = tuple(numbers[: nodes + 1])  # a huge range would fill the memory
        case _:
            listed_nodes = enumerate(_items(key, concat))
            output = tuple(_number(f"{key}[{index}]", item) for index, item in listed_nodes)
    try:
        edges = tuple(_edge(f"{group}[{index}]", item, 2 + index // 2) for index, item in enumerate(items))
        return Cell(2, nodes, edges, output)
    except SpaceError as error:
        raise _wrong(group, str(error)) from None


def _edge(key: str, item: ast.expr, target: int) -> Edge:
    match item.elts if isinstance(item, ast.List | ast.Tuple) else []:
        case [ast.Constant(value=str(op)), source]:
            number = _number(key, source)
            if number < target:
                return Edge(number, target, (op,))
            raise _wrong(key, f"expected a source below node {target}, which the pair enters; got {number}")
    raise _wrong(key, f"expected a pair ('op', source) {_place(item)}, got {_shown(item)}")


def _items(key: str, value: ast.expr) -> list[ast.expr]:
    if not isinstance(value, ast.List | ast.Tuple):
        raise _wrong(key, f"expected a list {_place(value)}, got {_shown(value)}")
    return value.elts


def _number(key: str, value: ast.expr) -> int:
    match value:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
    raise _wrong(key, f"expected a node number {_place(value)}, got {_shown(value)}")


def _place(node: ast.expr | ast.keyword) -> str:
    return f"at line {node.lineno}, column {node.col_offset + 1}"


def _shown(node: ast.expr) -> str:
    return repr(node.value)[:60] if isinstance(node, ast.Constant) else f"a {type(node).__name__.lower()}"


def _wrong(place: str, message: str) -> GenotypeError:
    return GenotypeError(f"DARTS genotype: {place}: {message}")
