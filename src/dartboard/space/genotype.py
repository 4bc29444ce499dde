"""Genotypes: discrete cells as a value, and the conversions between genotypes and spaces.

`restrict` is for a genotype of the space itself, `adopt` puts cells from anywhere into a space's
stack; both return a space with nothing left to choose, which builds like any other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from random import Random

from dartboard.errors import GenotypeError
from dartboard.space._explain import listed
from dartboard.space.graph import count_kept, winning_ops
from dartboard.space.spec import NONE, Cell, Contest, Edge, SearchSpace

Choice = tuple[tuple[int, str], ...]
"""The outcome of one decision: indices of edges in the space's cell, each with its op."""


@dataclass(frozen=True)
class Genotype:
    """Discrete cells by decision group: the edges, and the op of each.

    How a cell adapts its inputs and projects its output (`Cell.adapt`, `Cell.project`) belongs to the
    space that builds it, not to what was chosen: a genotype holds both at their defaults, so the same
    choices make the same genotype whatever space or text they come from. Edges keep the order they
    were written in, and genotypes compare as written; `restrict` brings them into the space's order.

    Args:
        groups: Name and cell of each decision group, every edge with one op and without contests.

    Examples:
        >>> from dartboard.space import GENOTYPE_FORMATS, decode
        >>> genotype = decode("|nor_conv_3x3~0|+|skip_connect~0|none~1|+|none~0|none~1|nor_conv_3x3~2|")
        >>> genotype.cells["cell"].edges[0].ops
        ('nor_conv_3x3',)
        >>> GENOTYPE_FORMATS["nb201"].encode(genotype)[:16]
        '|nor_conv_3x3~0|'
    """

    groups: tuple[tuple[str, Cell], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.groups]
        if not names:
            raise GenotypeError("a genotype needs at least one cell")
        if len(set(names)) < len(names):
            raise GenotypeError(f"the genotype names a cell twice: {', '.join(names)}")
        for name, cell in self.groups:
            _check_discrete(name, cell)
        plain = tuple((name, replace(cell, adapt=True, project=False)) for name, cell in self.groups)
        object.__setattr__(self, "groups", plain)

    @property
    def cells(self) -> Mapping[str, Cell]:
        """The cell of each decision group."""
        return dict(self.groups)


def _check_discrete(name: str, cell: Cell) -> None:
    for edge in cell.edges:
        if len(edge.ops) > 1:
            raise GenotypeError(
                f"{name}, edge {edge}: expected one op, got {len(edge.ops)} ({', '.join(edge.ops)})"
            )
    if cell.contests:
        node = cell.edges[cell.contests[0].edges[0]].target
        raise GenotypeError(f"{name}: the contest at node {node} is not decided yet")


def restrict(space: SearchSpace, genotype: Genotype) -> SearchSpace:
    """The space with nothing left to choose, restricted to the genotype.

    The genotype must be one of the space: its edges are edges of the space with one of their
    candidates, every contest keeps as many as it should and none of them as `none`. An edge outside
    all contests is there; where `none` is a candidate, leaving the edge out means `none`, and it is
    put in as such, so that both ways of writing it restrict to equal spaces. Edges come in the
    order of the space; adapt, project, joins and concat are those of the space's cells.

    Raises:
        GenotypeError: If the genotype is not of this space; says which cell and edge, and what was expected.
    """
    chosen = decisions(space, genotype)
    groups = ((name, decided(cell, tuple(chosen[name].items()))) for name, cell in space.groups)
    return replace(space, groups=tuple(groups))


def decisions(space: SearchSpace, genotype: Genotype) -> dict[str, dict[int, str]]:
    """The op of every edge that the genotype keeps, by cell and index of the edge; see `restrict`."""
    _check_archs(space, genotype)
    cells = genotype.cells
    return {name: _decisions_of(name, cell, cells[name]) for name, cell in space.groups}


def adopt(space: SearchSpace, genotype: Genotype) -> SearchSpace:
    """The space's stack with the genotype's cells, whatever space they come from.

    The cells keep their nodes, edges, output, joins and concat; how inputs are adapted and the
    output is projected is taken from the space.

    Raises:
        GenotypeError: If the stack has other cells, or its cells have another number of inputs.
    """
    _check_archs(space, genotype)
    cells = genotype.cells
    groups = (
        (name, replace(cells[name], adapt=cell.adapt, project=cell.project)) for name, cell in space.groups
    )
    return replace(space, groups=tuple(groups))


def _check_archs(space: SearchSpace, genotype: Genotype) -> None:
    expected, cells = space.cells, genotype.cells
    if set(expected) != set(cells):
        raise GenotypeError(
            f"space {space.name!r} expects the cells {listed(expected)}; the genotype has {listed(cells)}"
        )
    for name, cell in expected.items():
        if cell.inputs != cells[name].inputs:
            raise GenotypeError(
                f"{name}: space {space.name!r} expects a cell with {cell.inputs} inputs, "
                f"the genotype's has {cells[name].inputs}"
            )


def _decisions_of(name: str, cell: Cell, chosen: Cell) -> dict[int, str]:
    if sorted(chosen.output) != sorted(cell.output):
        raise GenotypeError(
            f"{name}: expected the output nodes {list(cell.output)}, got {list(chosen.output)}"
        )
    ops = _match_edges(name, cell, chosen)
    for contest in cell.contests:
        _check_contest(name, cell, contest, ops)
    for index, edge in enumerate(cell.edges):
        if index not in ops and cell.contest_of(index) is None:
            if NONE not in edge.ops:
                raise GenotypeError(
                    f"{name}, edge {edge}: expected one of {', '.join(edge.ops)}; the edge is missing"
                )
            ops[index] = NONE
    return ops


def _match_edges(name: str, cell: Cell, chosen: Cell) -> dict[int, str]:
    """The op of each of the space's edges that the chosen cell has, by the index of the edge.

    Parallel edges are matched by their candidates; where that leaves a choice, edges outside
    contests come first, then the order of the space decides.
    """
    between: dict[tuple[int, int], list[str]] = {}
    for edge in chosen.edges:
        between.setdefault((edge.source, edge.target), []).append(edge.ops[0])
    matched: dict[int, str] = {}
    for (source, target), ops in between.items():
        indices = [i for i, edge in enumerate(cell.edges) if (edge.source, edge.target) == (source, target)]
        indices.sort(key=lambda index: cell.contest_of(index) is not None)
        fits = (
            order
            for order in permutations(indices, len(ops))
            if all(op in cell.edges[index].ops for index, op in zip(order, ops, strict=True))
        )
        order = next(fits, None)
        if order is None:
            raise GenotypeError(f"{name}, edge {source} -> {target}: {_explain_mismatch(cell, indices, ops)}")
        matched.update(zip(order, ops, strict=True))
    return matched


def _explain_mismatch(cell: Cell, indices: list[int], ops: list[str]) -> str:
    if not indices:
        return "the space has no such edge"
    if len(indices) < len(ops):
        return f"expected at most {len(indices)} edge, got {len(ops)} ({', '.join(ops)})"
    candidates = dict.fromkeys(op for index in indices for op in cell.edges[index].ops)
    return f"expected one of {', '.join(candidates)}; got {', '.join(ops)}"


def _check_contest(name: str, cell: Cell, contest: Contest, ops: Mapping[int, str]) -> None:
    chosen = [index for index in contest.edges if index in ops]
    node = cell.edges[contest.edges[0]].target
    if len(chosen) != contest.keep:
        rivals = ", ".join(str(cell.edges[index]) for index in contest.edges)
        raise GenotypeError(
            f"{name}, node {node}: expected {contest.keep} of the edges {rivals}; got {len(chosen)}"
        )
    for index in chosen:
        if ops[index] == NONE:
            raise GenotypeError(
                f"{name}, edge {cell.edges[index]}: an edge that wins a place cannot be {NONE!r}; "
                f"expected another of {', '.join(cell.edges[index].ops)}"
            )


def decided(cell: Cell, choice: Choice) -> Cell:
    """The cell with the chosen edges alone, in the cell's order."""
    edges = tuple(replace(cell.edges[index], ops=(op,)) for index, op in sorted(choice))
    return replace(cell, edges=edges, contests=())


def sample(space: SearchSpace, rng: Random) -> Genotype:
    """A genotype drawn uniformly from all that `enumerate_genotypes` would list."""
    cells = []
    for name, cell in space.groups:
        winning = [index for contest in cell.contests for index in _sample_contest(cell, contest, rng)]
        choice = [(index, rng.choice(winners(cell.edges[index]))) for index in winning]
        choice += [(index, rng.choice(edge.ops)) for index, edge in _free_edges(cell)]
        cells.append((name, decided(cell, tuple(choice))))
    return Genotype(tuple(cells))


def _sample_contest(cell: Cell, contest: Contest, rng: Random) -> list[int]:
    """The edges that stay; the probability of a set is proportional to the number of ops it can have."""
    choices, keep = winning_ops(cell, contest), contest.keep
    chosen: list[int] = []
    for position, index in enumerate(contest.edges):
        remaining = choices[position:]
        with_this = remaining[0] * count_kept(remaining[1:], keep - len(chosen) - 1)
        if rng.randrange(count_kept(remaining, keep - len(chosen))) < with_this:
            chosen.append(index)
        if len(chosen) == keep:
            break
    return chosen


def enumerate_genotypes(space: SearchSpace) -> Iterator[Genotype]:
    """All genotypes of the space, one at a time, `graph.count(space)` of them."""
    decisions_left = [(name, choices) for name, cell in space.groups for choices in _open_decisions(cell)]
    for choices in product(*(choices for _, choices in decisions_left)):
        chosen: dict[str, Choice] = dict.fromkeys(space.cells, ())
        for (name, _), choice in zip(decisions_left, choices, strict=True):
            chosen[name] += choice
        yield Genotype(tuple((name, decided(cell, chosen[name])) for name, cell in space.groups))


def _open_decisions(cell: Cell) -> Iterator[list[Choice]]:
    """The independent decisions of a cell, each as the list of its outcomes."""
    for contest in cell.contests:
        yield [
            tuple(zip(indices, ops, strict=True))
            for indices in combinations(contest.edges, contest.keep)
            for ops in product(*(winners(cell.edges[index]) for index in indices))
        ]
    for index, edge in _free_edges(cell):
        yield [((index, op),) for op in edge.ops]


def winners(edge: Edge) -> list[str]:
    """The ops that an edge of a contest can have."""
    return [op for op in edge.ops if op != NONE]


def _free_edges(cell: Cell) -> list[tuple[int, Edge]]:
    """The edges in no contest, with their indices."""
    return [(index, edge) for index, edge in enumerate(cell.edges) if cell.contest_of(index) is None]
