"""The spaces that ship with dartboard, each a short registered function.

`darts`, `xnas`, `s1`, `s2` and `asm` stack DARTS-like cells, `nb201` and `oneshot1` to `oneshot3` are
the spaces of the tabular benchmarks, `nano` is small enough to be trained exhaustively.
"""

from collections.abc import Callable, Sequence

from dartboard.registry import Registry
from dartboard.space.spec import NONE, Cell, Contest, Edge, SearchSpace, Stack

SPACES: Registry[Callable[[], SearchSpace]] = Registry("space", "dartboard.spaces")

POOLS = ("max_pool_3x3", "avg_pool_3x3")
CONVOLUTIONS = ("sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5")
XNAS_OPS = (*POOLS, "skip_connect", *CONVOLUTIONS)
DARTS_OPS = (NONE, *XNAS_OPS)
NB201_OPS = (NONE, "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
NB101_OPS = ("conv_bn_relu_3x3", "conv_bn_relu_1x1", "max_pool_3x3")


def get_space(name: str) -> SearchSpace:
    """The space registered under `name`.

    Raises:
        UnknownNameError: If there is no such space; suggests a similar name.

    Examples:
        >>> from dartboard import get_space
        >>> space = get_space("nb201")
        >>> len(space.cells["cell"].edges), space.ops
        (6, ('none', 'skip_connect', 'nor_conv_1x1', 'nor_conv_3x3', 'avg_pool_3x3'))
    """
    return SPACES[name]()


def list_spaces() -> list[str]:
    """Names of the registered spaces, those of installed packages included.

    Examples:
        >>> from dartboard import list_spaces
        >>> list_spaces()[:3]
        ['darts', 'xnas', 's1']
    """
    return list(SPACES)


def register_space(name: str) -> Callable[[Callable[[], SearchSpace]], Callable[[], SearchSpace]]:
    """Decorator that registers a function without arguments as the space `name`.

    Examples:
        >>> from dataclasses import replace
        >>> from dartboard import get_space, register_space
        >>> @register_space("nano-conv")
        ... def nano_conv():
        ...     '''The nano space without pooling.'''
        ...     return replace(get_space("nano").without("avg_pool_3x3"), name="nano-conv")
        >>> "avg_pool_3x3" in get_space("nano-conv").ops
        False
    """
    return SPACES.register(name, stacklevel=2)


def dense_edges(nodes: int, ops: Sequence[str], *, first: int) -> tuple[Edge, ...]:
    """Edges from every node to every later one from `first` on, in order of target, then source."""
    return tuple(
        Edge(source, target, tuple(ops)) for target in range(first, nodes) for source in range(target)
    )


def keep_per_node(edges: Sequence[Edge], keep: int, *, weighted: bool = False) -> tuple[Contest, ...]:
    """One contest a node that keeps `keep` of the entering edges, or all where there are fewer."""
    entering: dict[int, list[int]] = {}
    for index, edge in enumerate(edges):
        entering.setdefault(edge.target, []).append(index)
    return tuple(Contest(tuple(indices), min(keep, len(indices)), weighted) for indices in entering.values())


def darts_cell(ops: Sequence[str], *, keep: int | None = 2, project: bool = False) -> Cell:
    """DARTS' cell: two inputs, four inner nodes, 14 edges, of which each node keeps `keep` (None: all)."""
    edges = dense_edges(6, ops, first=2)
    contests = () if keep is None else keep_per_node(edges, keep)
    return Cell(2, 6, edges, output=(2, 3, 4, 5), contests=contests, project=project)


def fixed_edges_cell(ops: Sequence[str]) -> Cell:
    """Amended DARTS' cell: a node takes the node just before it and the first input, 8 edges in all."""
    edges = tuple(Edge(source, target, tuple(ops)) for target in range(2, 6) for source in (0, target - 1))
    return Cell(2, 6, edges, output=(2, 3, 4, 5))


def node_ops_cell(parents: Sequence[int], ops: Sequence[str]) -> Cell:
    """A cell of NAS-Bench-1Shot1, where ops sit on nodes: a join of plain edges, then an edge with the ops.

    Vertex v of the benchmark becomes the nodes 2v - 1 (its join) and 2v (its output); the last join
    is the cell's output and concatenates. An edge from the cell input is a 1x1 projection.

    Args:
        parents: Number of parents that each vertex after the input keeps, the output vertex last.
        ops: The candidates of every inner vertex.
    """
    edges: list[Edge] = []
    contests: list[Contest] = []
    for vertex, keep in enumerate(parents, start=1):
        join = 2 * vertex - 1
        indices = range(len(edges), len(edges) + vertex)
        edges += [
            Edge(2 * source, join, ("skip_connect",) if source else ("conv_bn_relu_1x1",))
            for source in range(vertex)
        ]
        if keep < vertex:
            contests.append(Contest(tuple(indices), keep, weighted=True))
        if vertex < len(parents):
            edges.append(Edge(join, join + 1, tuple(ops)))
    last = 2 * len(parents) - 1
    joins = tuple(range(1, last + 1, 2))
    return Cell(1, last + 1, tuple(edges), (last,), tuple(contests), joins, concat=(last,), adapt=False)


def stacked(name: str, cell: Cell, stack: Stack) -> SearchSpace:
    """A space in which every decision group of the stack has the same cell."""
    groups = dict.fromkeys(slot.group for slot in stack.slots() if slot.group)
    return SearchSpace(name, tuple((group, cell) for group in groups), stack)


def _nb201_stack(cells: int, stages: int = 3) -> Stack:
    return Stack(cells, reduce="residual", stages=stages, stem=1, head_norm=True, pool_norm=False)


@SPACES.register("darts")
def darts() -> SearchSpace:
    """DARTS: 8 ops, 14 edges, two kept a node (Liu et al. 2019)."""
    return stacked("darts", darts_cell(DARTS_OPS), Stack(cells=8))


@SPACES.register("xnas")
def xnas() -> SearchSpace:
    """XNAS: DARTS' cell without `none`, output brought back to the cell's width (xnas 8.6)."""
    return stacked("xnas", darts_cell(XNAS_OPS, project=True), Stack(cells=8))


@SPACES.register("s1")
def s1() -> SearchSpace:
    """Amended DARTS' S1: fixed edges, 7 ops, shared cells (amended-darts 4.1)."""
    return stacked("s1", fixed_edges_cell(XNAS_OPS), Stack(cells=8))


@SPACES.register("s1-dense")
def s1_dense() -> SearchSpace:
    """The form of S1 that keeps all 14 edges (amended-darts 4.1)."""
    return stacked("s1-dense", darts_cell(XNAS_OPS, keep=None), Stack(cells=8))


@SPACES.register("s2")
def s2() -> SearchSpace:
    """Amended DARTS' S2: 20 unshared cells, fixed edges, skip or separable conv (amended-darts 4.2)."""
    return stacked("s2", fixed_edges_cell(("skip_connect", "sep_conv_3x3")), Stack(cells=20, shared=False))


@SPACES.register("asm")
def asm() -> SearchSpace:
    """ASM-NAS: 15 unshared cells, 14 edges, 8 ops, nothing pruned (asm-nas 5.1)."""
    return stacked("asm", darts_cell(DARTS_OPS, keep=None), Stack(cells=15, shared=False))


@SPACES.register("nb201")
def nb201() -> SearchSpace:
    """NAS-Bench-201: four nodes, 6 edges, 5 ops, 15,625 cells (Dong & Yang 2020)."""
    cell = Cell(1, 4, dense_edges(4, NB201_OPS, first=1), output=(3,), adapt=False)
    return stacked("nb201", cell, _nb201_stack(cells=5))


def _oneshot(name: str, parents: Sequence[int]) -> SearchSpace:
    stack = Stack(cells=3, reduce="pool", stem=1, stem_relu=True, pool_norm=False)
    return stacked(name, node_ops_cell(parents, NB101_OPS), stack)


@SPACES.register("oneshot1")
def oneshot1() -> SearchSpace:
    """NAS-Bench-1Shot1, space 1: four vertices with an op, 14,580 encodings (Zela et al. 2020)."""
    return _oneshot("oneshot1", (1, 2, 2, 2, 2))


@SPACES.register("oneshot2")
def oneshot2() -> SearchSpace:
    """NAS-Bench-1Shot1, space 2: four vertices with an op, 29,160 encodings."""
    return _oneshot("oneshot2", (1, 1, 2, 2, 3))


@SPACES.register("oneshot3")
def oneshot3() -> SearchSpace:
    """NAS-Bench-1Shot1, space 3: five vertices with an op, 1,312,200 encodings."""
    return _oneshot("oneshot3", (1, 1, 1, 2, 2, 2))


@SPACES.register("nano")
def nano() -> SearchSpace:
    """Small enough to train all 216: three nodes, three edges, 6 ops, two stages of one cell."""
    ops = (*NB201_OPS, "sep_conv_3x3")
    cell = Cell(1, 3, dense_edges(3, ops, first=1), output=(2,), adapt=False)
    return stacked("nano", cell, _nb201_stack(cells=1, stages=2))
