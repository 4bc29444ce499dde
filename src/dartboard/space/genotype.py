"""Genotypes: discrete cells as a value, and how they are made from spaces and turned into spaces.

`restrict` is for a genotype of the space itself, `adopt` puts cells from anywhere into a space's
stack; both return a space with nothing left to choose, which builds like any other. `sample`,
`enumerate_genotypes` and `mutate` make genotypes of a space.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from random import Random

from dartboard.errors import GenotypeError, SpaceError, join_names
from dartboard.space.graph import count_kept, is_connected
from dartboard.space.spec import NONE, Cell, Contest, Edge, SearchSpace

Choice = tuple[tuple[int, str], ...]
"""The outcome of one decision: indices of edges in the space's cell, each with its op."""
MAX_DRAWS = 1000
"""Largest number of draws for an architecture that leads from its inputs to its output."""


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
        names = [group for group, _ in self.groups]
        if not names:
            raise GenotypeError("a genotype needs at least one cell")
        if len(set(names)) < len(names):
            raise GenotypeError(f"the genotype names a cell twice: {', '.join(names)}")
        for group, cell in self.groups:
            for edge in cell.edges:
                if len(edge.ops) > 1:
                    raise GenotypeError(
                        f"{group}, edge {edge}: expected one op, got {len(edge.ops)} ({', '.join(edge.ops)})"
                    )
            if cell.contests:
                node = cell.edges[cell.contests[0].edges[0]].target
                raise GenotypeError(f"{group}: the contest at node {node} is not decided yet")
        plain = tuple((group, replace(cell, adapt=True, project=False)) for group, cell in self.groups)
        object.__setattr__(self, "groups", plain)

    @property
    def cells(self) -> Mapping[str, Cell]:
        """The cell of each decision group."""
        return dict(self.groups)


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
    groups = ((group, decided(cell, tuple(chosen[group].items()))) for group, cell in space.groups)
    return replace(space, groups=tuple(groups))


def decisions(space: SearchSpace, genotype: Genotype) -> dict[str, dict[int, str]]:
    """The op of every edge that the genotype keeps, by cell and index of the edge; see `restrict`."""
    _check_groups(space, genotype)
    return {group: _cell_decisions(group, cell, genotype.cells[group]) for group, cell in space.groups}


def _cell_decisions(group: str, cell: Cell, chosen: Cell) -> dict[int, str]:
    if sorted(chosen.output) != sorted(cell.output):
        raise GenotypeError(
            f"{group}: expected the output nodes {list(cell.output)}, got {list(chosen.output)}"
        )
    ops = _match_edges(group, cell, chosen)
    for contest in cell.contests:
        winning = [index for index in contest.edges if index in ops]
        if len(winning) != contest.keep:
            node = cell.edges[contest.edges[0]].target
            rivals = ", ".join(str(cell.edges[index]) for index in contest.edges)
            raise GenotypeError(
                f"{group}, node {node}: expected {contest.keep} of the edges {rivals}; got {len(winning)}"
            )
        for index in winning:
            if ops[index] == NONE:
                raise GenotypeError(
                    f"{group}, edge {cell.edges[index]}: an edge that wins a place cannot be {NONE!r}; "
                    f"expected another of {', '.join(cell.edges[index].ops)}"
                )
    for index, edge in _free_edges(cell):
        if index not in ops:
            if NONE not in edge.ops:
                raise GenotypeError(
                    f"{group}, edge {edge}: expected one of {', '.join(edge.ops)}; the edge is missing"
                )
            ops[index] = NONE
    return ops


def _match_edges(group: str, cell: Cell, chosen: Cell) -> dict[int, str]:
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
            if not indices:
                reason = "the space has no such edge"
            elif len(indices) < len(ops):
                reason = f"expected at most {len(indices)} edge, got {len(ops)} ({', '.join(ops)})"
            else:
                candidates = dict.fromkeys(op for index in indices for op in cell.edges[index].ops)
                reason = f"expected one of {', '.join(candidates)}; got {', '.join(ops)}"
            raise GenotypeError(f"{group}, edge {source} -> {target}: {reason}")
        matched.update(zip(order, ops, strict=True))
    return matched


def adopt(space: SearchSpace, genotype: Genotype) -> SearchSpace:
    """The space's stack with the genotype's cells, whatever space they come from.

    The cells keep their nodes, edges, output, joins and concat; how inputs are adapted and the
    output is projected is taken from the space.

    Raises:
        GenotypeError: If the stack has other cells, or its cells have another number of inputs.
    """
    _check_groups(space, genotype)
    cells = genotype.cells
    groups = (
        (group, replace(cells[group], adapt=cell.adapt, project=cell.project)) for group, cell in space.groups
    )
    return replace(space, groups=tuple(groups))


def _check_groups(space: SearchSpace, genotype: Genotype) -> None:
    expected, cells = space.cells, genotype.cells
    if set(expected) != set(cells):
        raise GenotypeError(
            f"space {space.name!r} expects the cells {join_names(expected)}; "
            f"the genotype has {join_names(cells)}"
        )
    for group, cell in expected.items():
        if cell.inputs != cells[group].inputs:
            raise GenotypeError(
                f"{group}: space {space.name!r} expects a cell with {cell.inputs} inputs, "
                f"the genotype's has {cells[group].inputs}"
            )


def decided(cell: Cell, choice: Choice) -> Cell:
    """The cell with the chosen edges alone, in the cell's order."""
    edges = tuple(replace(cell.edges[index], ops=(op,)) for index, op in sorted(choice))
    return replace(cell, edges=edges, contests=())


def sample(space: SearchSpace, rng: Random) -> Genotype:
    """A genotype drawn uniformly from all that `enumerate_genotypes` would list."""
    cells = []
    for group, cell in space.groups:
        winning = [index for contest in cell.contests for index in _sample_contest(cell, contest, rng)]
        choice = [(index, rng.choice(winners(cell.edges[index]))) for index in winning]
        choice += [(index, rng.choice(edge.ops)) for index, edge in _free_edges(cell)]
        cells.append((group, decided(cell, tuple(choice))))
    return Genotype(tuple(cells))


def draw_connected(draw: Callable[[], Genotype]) -> Genotype:
    """The first genotype that `draw` gives in which every cell leads from its inputs to its output.

    Raises:
        SpaceError: If none was found in a thousand draws.
    """
    for _ in range(MAX_DRAWS):
        genotype = draw()
        if all_connected(genotype):
            return genotype
    raise SpaceError(
        f"none of {MAX_DRAWS} architectures that were drawn leads from its inputs to its output; leave "
        f"{NONE!r} out of the space"
    )


def all_connected(genotype: Genotype) -> bool:
    """True if every cell leads from its inputs to its output."""
    return all(is_connected(cell) for _, cell in genotype.groups)


def cell_name(group: str) -> str:
    """What messages call the cell of a decision group: `normal cell`, or `cell03` as it is."""
    return group if group.startswith("cell") else f"{group} cell"


def check_connected(genotype: Genotype) -> None:
    """Raises a GenotypeError if a cell has no path from its inputs to its output."""
    for group, cell in genotype.groups:
        if not is_connected(cell):
            raise GenotypeError(
                f"nothing leads from the inputs to the output of the {cell_name(group)}, so that its network "
                "gives the same answer for every image; choose a cell with a path that is not none"
            )


def _sample_contest(cell: Cell, contest: Contest, rng: Random) -> list[int]:
    """The edges that stay; the probability of a set is proportional to the number of ops it can have."""
    choices, keep = [len(winners(cell.edges[index])) for index in contest.edges], contest.keep
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
    outcomes: list[tuple[str, list[Choice]]] = []  # of each independent decision, with its group
    for group, cell in space.groups:
        for contest in cell.contests:
            choices = [
                tuple(zip(indices, ops, strict=True))
                for indices in combinations(contest.edges, contest.keep)
                for ops in product(*(winners(cell.edges[index]) for index in indices))
            ]
            outcomes.append((group, choices))
        outcomes += [(group, [((index, op),) for op in edge.ops]) for index, edge in _free_edges(cell)]
    for combination in product(*(choices for _, choices in outcomes)):
        chosen: dict[str, Choice] = dict.fromkeys(space.cells, ())
        for (group, _), choice in zip(outcomes, combination, strict=True):
            chosen[group] += choice
        yield Genotype(tuple((group, decided(cell, chosen[group])) for group, cell in space.groups))


def mutate(space: SearchSpace, genotype: Genotype, rng: Random) -> Genotype:
    """The genotype with one op, or one edge of a contest, changed (Real et al. 2019's two mutations).

    The op or edge to change is drawn uniformly from all that can change, its replacement uniformly from the
    alternatives.

    Raises:
        SpaceError: If the space has nothing left to choose.
    """
    chosen = decisions(space, genotype)
    moves: list[tuple[str, int, list[tuple[int, str]]]] = []  # group, edge to remove, its replacements
    for group, cell in space.groups:
        for index, op in chosen[group].items():
            edge, contest = cell.edges[index], cell.contest_of(index)
            ops = edge.ops if contest is None else winners(edge)
            if len(ops) > 1:
                moves.append((group, index, [(index, new_op) for new_op in ops if new_op != op]))
            rivals = (
                [] if contest is None else [rival for rival in contest.edges if rival not in chosen[group]]
            )
            replacements = [
                (rival, new_op)
                for rival in rivals
                for new_op in winners(cell.edges[rival])
                if (cell.edges[rival].source, new_op) != (edge.source, op)  # a parallel edge with the same op
            ]
            if replacements:
                moves.append((group, index, replacements))
    if not moves:
        raise SpaceError(f"space {space.name!r} has nothing left to choose, so nothing can change")
    group, index, replacements = rng.choice(moves)
    del chosen[group][index]
    chosen[group].update([rng.choice(replacements)])
    return Genotype(
        tuple((group, decided(cell, tuple(chosen[group].items()))) for group, cell in space.groups)
    )


def winners(edge: Edge) -> list[str]:
    """The ops that an edge of a contest can have."""
    return [op for op in edge.ops if op != NONE]


def _free_edges(cell: Cell) -> list[tuple[int, Edge]]:
    """The edges in no contest, with their indices."""
    return [(index, edge) for index, edge in enumerate(cell.edges) if cell.contest_of(index) is None]
