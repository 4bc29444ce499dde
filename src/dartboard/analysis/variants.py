"""Variants of a cell: other connections for its ops, other ops on its connections, the widest of its kind.

As understanding-cells A.2 draws them: nodes and the order of ops stay; either the source of every op is
redrawn, uniformly among the nodes before, or every op is, uniformly among candidates. Each source is
drawn on its own, so that a node may read one node twice, as nodes of NASNet's and AmoebaNet's cells do;
the paper counts and draws like that. DARTS' own space keeps different sources at a node, which
`repeats=False` asks for. The nodes that leave the cell stay as they are.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from math import comb, factorial, perm, prod
from random import Random

from dartboard.errors import GenotypeError, OptionError
from dartboard.space import NONE, Cell, Edge, Genotype
from dartboard.space.catalog import XNAS_OPS

Draw = Callable[[Cell, Random], Cell]
"""A random variant of a cell."""


def random_connections(
    genotype: Genotype,
    count: int,
    *,
    seed: int = 0,
    repeats: bool = True,
    groups: Collection[str] | None = None,
) -> list[Genotype]:
    """Different genotypes with the ops of a genotype and other connections, the same for the same seed.

    Args:
        genotype: What to vary: cells with two inputs.
        count: How many; the first do not depend on the count.
        seed: Random seed.
        repeats: Whether a node may read one node twice.
        groups: Whose cells to vary; all by default.

    Raises:
        GenotypeError: If a cell is of another kind, or has fewer variants.
    """
    chosen = _select_groups(genotype, groups)
    for name in chosen:
        check_connections(name, genotype.cells[name], repeats=repeats)
    cells = [genotype.cells[name] for name in chosen]
    total = prod(count_connection_variants(cell, repeats=repeats) for cell in cells)
    includes_itself = repeats or all(
        len({(edge.source, edge.target) for edge in cell.edges}) == len(cell.edges) for cell in cells
    )

    def draw(cell: Cell, rng: Random) -> Cell:
        def sources(node: int, count: int) -> list[int]:
            return rng.choices(range(node), k=count) if repeats else rng.sample(range(node), count)

        return _reconnect(cell, sources)

    return _draw_distinct(genotype, chosen, draw, count, total - includes_itself, seed)


def random_operations(
    genotype: Genotype,
    count: int,
    *,
    seed: int = 0,
    ops: Sequence[str] = XNAS_OPS,
    groups: Collection[str] | None = None,
) -> list[Genotype]:
    """Different genotypes with the connections of a genotype and other ops, the same for the same seed.

    What is no connection (`none`) stays so, and so do the plain connections into nodes that only gather.

    Args:
        genotype: What to vary.
        count: How many; the first do not depend on the count.
        seed: Random seed.
        ops: The candidates; `none` would change the connections.
        groups: Whose cells to vary; all by default.

    Raises:
        GenotypeError: If the cells have fewer variants.
        OptionError: If a candidate is `none` or named twice.
    """
    if NONE in ops:
        raise OptionError(f"{NONE!r} cannot be a candidate: it would take a connection away")
    if not ops or len(set(ops)) < len(ops):
        raise OptionError(f"expected one or more different ops, got {', '.join(ops) or 'none'}")
    chosen = _select_groups(genotype, groups)
    cells = [genotype.cells[name] for name in chosen]
    total = prod(count_operation_variants(cell, len(ops)) for cell in cells)
    includes_itself = all(edge.ops[0] in ops for cell in cells for edge in cell.edges if _varies(cell, edge))

    def draw(cell: Cell, rng: Random) -> Cell:
        edges = (replace(e, ops=(rng.choice(ops),)) if _varies(cell, e) else e for e in cell.edges)
        return replace(cell, edges=tuple(edges))

    return _draw_distinct(genotype, chosen, draw, count, total - includes_itself, seed)


def widest(genotype: Genotype, *, groups: Collection[str] | None = None) -> Genotype:
    """The genotype with every node connected to the cell's inputs alone: the widest and shallowest cells.

    The pattern of SNAS' normal cell, which understanding-cells puts the others into, normal and reduction
    cells alike (section 5, figure 25): the first op of a node reads the first input, the second the
    second. The nodes that leave the cell stay, as the paper's sizes say (table 1), so that a node which
    only fed others now feeds nothing.

    Args:
        genotype: What to adapt: cells with two inputs.
        groups: Whose cells to adapt; all by default.

    Raises:
        GenotypeError: If a cell is of another kind.
    """
    chosen = _select_groups(genotype, groups)
    cells = {}
    for name in chosen:
        check_connections(name, genotype.cells[name])
        alternating = _reconnect(genotype.cells[name], lambda _, count: [place % 2 for place in range(count)])
        cells[name] = alternating
    return _replace_cells(genotype, cells)


def count_connection_variants(cell: Cell, *, repeats: bool = True) -> int:
    """How many different cells have the nodes and ops of this one, itself among them where it may be.

    Two ops of one name at a node are interchangeable.
    """
    total = 1
    for node in cell.inner:
        same = Counter(cell.edges[index].ops for index in cell.entering(node)).values()
        if repeats:
            total *= prod(comb(node + n - 1, n) for n in same)
        else:
            total *= perm(node, sum(same)) // prod(map(factorial, same))
    return total


def count_operation_variants(cell: Cell, ops: int) -> int:
    """How many different cells have the connections of this one, with `ops` candidates on each."""
    parallel = Counter((edge.source, edge.target) for edge in cell.edges if _varies(cell, edge))
    return prod(comb(ops + n - 1, n) for n in parallel.values())


def check_connections(name: str, cell: Cell, *, repeats: bool = True) -> None:
    """Refuses a cell whose sources cannot be drawn: one that has not two inputs and nodes that sum."""
    if cell.inputs != 2 or cell.joins or cell.concat:
        obstacle = "nodes that concatenate"
        if cell.joins:
            obstacle = "ops on its nodes"
        elif cell.inputs != 2:
            obstacle = f"{cell.inputs} input{'s' if cell.inputs > 1 else ''}"
        raise GenotypeError(
            f"{name}: connections vary in cells with 2 inputs whose nodes sum, as DARTS'; this one has "
            f"{obstacle}"
        )
    for node in cell.inner:
        if not repeats and len(cell.entering(node)) > node:
            raise GenotypeError(
                f"{name}, node {node}: {len(cell.entering(node))} ops cannot read different nodes of {node}"
            )


def _reconnect(cell: Cell, sources: Callable[[int, int], Sequence[int]]) -> Cell:
    """The cell with the sources that `sources` gives for a node and the number of its edges."""
    edges = list(cell.edges)
    for node in cell.inner:
        entering = cell.entering(node)
        for index, source in zip(entering, sources(node, len(entering)), strict=True):
            edges[index] = replace(edges[index], source=source)
    return replace(cell, edges=tuple(edges))


def _varies(cell: Cell, edge: Edge) -> bool:
    """Whether the edge has an op that can be another."""
    return edge.ops != (NONE,) and edge.target not in cell.joins


def _select_groups(genotype: Genotype, groups: Collection[str] | None) -> list[str]:
    known = list(genotype.cells)
    unknown = [name for name in groups or () if name not in known]
    if unknown:
        raise GenotypeError(f"the genotype has no cell {unknown[0]!r}; it has {', '.join(known)}")
    return [name for name in known if groups is None or name in groups]


def _draw_distinct(
    genotype: Genotype, groups: Iterable[str], draw: Draw, count: int, total: int, seed: int
) -> list[Genotype]:
    """Draws until there are `count` genotypes that differ from each other and from the first."""
    if count < 1:
        raise OptionError(f"ask for 1 or more variants, not {count}")
    if count > total:
        raise GenotypeError(f"there are {total:,} variants that differ, not {count:,}; ask for fewer")
    rng, seen = Random(seed), {_edge_sets(genotype)}
    variants: list[Genotype] = []
    while len(variants) < count:
        variant = _replace_cells(genotype, {name: draw(genotype.cells[name], rng) for name in groups})
        if (edges := _edge_sets(variant)) not in seen:
            seen.add(edges)
            variants.append(variant)
    return variants


def _replace_cells(genotype: Genotype, cells: dict[str, Cell]) -> Genotype:
    return Genotype(tuple((name, cells.get(name, cell)) for name, cell in genotype.groups))


def _edge_sets(genotype: Genotype) -> tuple[tuple[Edge, ...], ...]:
    """The genotype without the order that edges are written in."""
    return tuple(
        tuple(sorted(cell.edges, key=lambda edge: (edge.target, edge.source, edge.ops)))
        for _, cell in genotype.groups
    )
