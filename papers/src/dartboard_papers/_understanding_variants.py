"""The random variants of popular cells that the authors of "Understanding" drew.

There are ten of each kind and cell, numbered from 1, and normal and reduction cells vary both; all cells get
the same draws. The nodes that leave a cell stay.
"""

from dataclasses import replace

from dartboard.space import Genotype
from dartboard.space.catalog import XNAS_OPS
from dartboard_papers._popular_cells import popular

CONNECTIONS = (
    ("1010134254", "1010011423"),
    ("0120132454", "1022314432"),
    ("0100121245", "0101331040"),
    ("0110101444", "0102230223"),
    ("1120033010", "0121020453"),
    ("0122211140", "1010132412"),
    ("1102120002", "0010224433"),
    ("1110314335", "0120011241"),
    ("0022100151", "0101232035"),
    ("1000112124", "1111010003"),
)
"""Sources of the ops of the normal and of the reduction cell, two for each node in turn; cells with four
nodes have the first eight."""
OPERATIONS = (
    "53401350014546124652",
    "05063230213524445364",
    "20130005532311256044",
    "26510021245610424662",
    "36566010463060415034",
    "21342520611351214641",
    "41633416016220640403",
    "34115203005541323451",
    "64656036516430210531",
    "15401341505120102064",
)
"""Ops by their number among the candidates of `XNAS_OPS`: of the normal cell and behind them of the reduction
cell, as many as these have."""
COUNT = len(CONNECTIONS)
"""Number of variants of each kind."""


def connection_variant(name: str, number: int) -> Genotype:
    """The popular cells that the paper calls `name` with the connections of a draw, from 1 to `COUNT`."""
    cells = []
    for (group, cell), sources in zip(popular(name).groups, CONNECTIONS[number - 1], strict=True):
        edges = list(cell.edges)
        entering = (index for node in cell.inner for index in cell.entering(node))
        for index, source in zip(entering, sources, strict=False):
            edges[index] = replace(edges[index], source=int(source))
        cells.append((group, replace(cell, edges=tuple(edges))))
    return Genotype(tuple(cells))


def operation_variant(name: str, number: int) -> Genotype:
    """The popular cells that the paper calls `name` with the ops of a draw, from 1 to `COUNT`."""
    ops, cells = iter(OPERATIONS[number - 1]), []
    for group, cell in popular(name).groups:
        order = [index for node in cell.inner for index in cell.entering(node)]
        chosen = {index: XNAS_OPS[int(next(ops))] for index in order}
        edges = tuple(replace(edge, ops=(chosen[index],)) for index, edge in enumerate(cell.edges))
        cells.append((group, replace(cell, edges=edges)))
    return Genotype(tuple(cells))
