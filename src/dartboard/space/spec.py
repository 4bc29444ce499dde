"""Search spaces as frozen data: what a cell may become, and how cells are stacked into a network.

A `Cell` is a directed acyclic graph with candidate ops on its edges and contests between edges; a
`Stack` says how cells follow each other; a `SearchSpace` is the two together. All are immutable,
hashable, compared by value and checked when made. Nothing here knows how to compute an op.

Nodes are numbered so that every edge goes from a lower to a higher number; the cell inputs come first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from dartboard.errors import SpaceError

NONE = "none"
"""The op that is the absence of an edge: it outputs zero and is never computed."""
MAX_NODES, MAX_EDGES, MAX_OPS = 200, 20_000, 1000
"""Most nodes and edges of a cell, and most candidates of an edge: far above what can be computed."""
MAX_CELLS, MAX_STAGES = 10_000, 20
"""Most cells and stages of a stack; every stage halves the sides of images."""


def check_limit(name: str, number: int, limit: int) -> None:
    """Refuses a number above a limit, before anything of that size is made."""
    if number > limit:
        shown = f"{number:,}" if number < 10**18 else "far more"
        raise SpaceError(f"{name} can be at most {limit:,}, not {shown}; no option raises this limit")


@dataclass(frozen=True)
class Edge:
    """A connection with its candidate ops; one candidate means nothing is left to choose."""

    source: int
    target: int
    ops: tuple[str, ...]

    def __post_init__(self) -> None:
        check_limit("the candidates of an edge", len(self.ops), MAX_OPS)
        if not self.ops:
            raise SpaceError(f"edge {self} has no op; give at least one, or leave the edge out")
        if len(set(self.ops)) < len(self.ops):
            raise SpaceError(f"edge {self} names an op twice: {', '.join(self.ops)}")
        if not all(self.ops):
            raise SpaceError(f"edge {self} has an op without a name")

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True)
class Contest:
    """Edges (by index in `Cell.edges`) of which `keep` stay at a node.

    Args:
        edges: The competing edges; all enter the same node.
        keep: Number of edges that stay when the cell becomes discrete.
        weighted: Whether the edges are ranked by edge weights (edges with a single op, as in
            NAS-Bench-1Shot1) instead of by the strength of their best op (DARTS' rule).
    """

    edges: tuple[int, ...]
    keep: int
    weighted: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.keep <= len(self.edges):
            raise SpaceError(
                f"a contest between {len(self.edges)} edges cannot keep {self.keep}; "
                f"keep 1 to {len(self.edges)}"
            )


@dataclass(frozen=True)
class Cell:
    """A directed acyclic graph of ops.

    Args:
        inputs: Number of input nodes, which come first: outputs of the cells before this one.
        nodes: Number of nodes, inputs included.
        edges: The connections; parallel edges are allowed.
        output: The nodes whose channels are concatenated to the cell's output.
        contests: Groups of competing edges.
        joins: Nodes that only gather: plain connections enter them, which no method prunes.
        concat: Nodes that concatenate what enters them instead of summing it.
        adapt: Whether each input passes a 1x1 convolution to the cell's own width first.
        project: Whether a 1x1 convolution brings the output back to the cell's own width.
    """

    inputs: int
    nodes: int
    edges: tuple[Edge, ...]
    output: tuple[int, ...]
    contests: tuple[Contest, ...] = ()
    joins: tuple[int, ...] = ()
    concat: tuple[int, ...] = ()
    adapt: bool = True
    project: bool = False

    def __post_init__(self) -> None:
        if self.inputs not in (1, 2):
            raise SpaceError(f"a cell has 1 or 2 inputs, not {self.inputs}")
        check_limit("the nodes of a cell", self.nodes, MAX_NODES)
        check_limit("the edges of a cell", len(self.edges), MAX_EDGES)
        self._check_nodes()
        self._check_order()
        self._check_contests()

    def _check_nodes(self) -> None:
        for edge in self.edges:
            for node in (edge.source, edge.target):
                if not 0 <= node < self.nodes:
                    raise SpaceError(f"edge {edge} leaves the cell: nodes are 0 to {self.nodes - 1}")
            if edge.target < self.inputs:
                raise SpaceError(f"edge {edge} enters an input; inputs are nodes 0 to {self.inputs - 1}")
        if not self.output:
            raise SpaceError("a cell needs at least one output node")
        for name, listed in (("output", self.output), ("joins", self.joins), ("concat", self.concat)):
            for node in listed:
                if not self.inputs <= node < self.nodes:
                    raise SpaceError(
                        f"{name} node {node} is not an inner one; those are {self.inputs} to {self.nodes - 1}"
                    )
            if len(set(listed)) < len(listed):
                raise SpaceError(f"{name} lists a node twice: {list(listed)}")

    def _check_order(self) -> None:
        backwards = next((edge for edge in self.edges if edge.source >= edge.target), None)
        if backwards is None:
            return
        order: TopologicalSorter[int] = TopologicalSorter()
        for edge in self.edges:
            order.add(edge.target, edge.source)
        try:
            order.prepare()
        except CycleError as error:
            ring = error.args[1][1:]
            start = ring.index(min(ring))
            cycle = " -> ".join(map(str, [*ring[start:], *ring[: start + 1]]))
            raise SpaceError(f"the cell has a cycle: {cycle}; a cell is acyclic") from None
        raise SpaceError(
            f"edge {backwards} runs backwards; number the nodes so that edges go from lower to higher"
        )

    def _check_contests(self) -> None:
        seen: set[int] = set()
        for contest in self.contests:
            for index in contest.edges:
                if not 0 <= index < len(self.edges):
                    raise SpaceError(f"a contest names edge {index}; edges are 0 to {len(self.edges) - 1}")
                if index in seen:
                    raise SpaceError(f"edge {self.edges[index]} is in two contests")
                seen.add(index)
            targets = {self.edges[index].target for index in contest.edges}
            if len(targets) > 1:
                raise SpaceError(
                    f"a contest spans nodes {sorted(targets)}; all its edges must enter one node"
                )
            eligible = [index for index in contest.edges if self.edges[index].ops != (NONE,)]
            if len(eligible) < contest.keep:
                raise SpaceError(
                    f"the contest at node {targets.pop()} keeps {contest.keep} edges, but "
                    f"{len(eligible)} of them can be more than {NONE!r}; keep fewer, or give them other ops"
                )

    @property
    def inner(self) -> range:
        """The nodes that are not inputs."""
        return range(self.inputs, self.nodes)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of edges, and the largest number of candidates of one (at least 1)."""
        return len(self.edges), max((len(edge.ops) for edge in self.edges), default=1)

    @property
    def discrete(self) -> bool:
        """Whether nothing is left to choose."""
        return not self.contests and all(len(edge.ops) == 1 for edge in self.edges)

    def entering(self, node: int) -> tuple[int, ...]:
        """Indices of the edges that enter `node`."""
        return tuple(index for index, edge in enumerate(self.edges) if edge.target == node)

    def contest_of(self, edge: int) -> Contest | None:
        """The contest of the edge with index `edge`, if any."""
        return next((contest for contest in self.contests if edge in contest.edges), None)

    def without(self, op: str) -> "Cell":
        """The same cell without the candidate `op`; an edge must keep at least one."""
        edges = tuple(replace(edge, ops=tuple(o for o in edge.ops if o != op)) for edge in self.edges)
        return replace(self, edges=edges)


@dataclass(frozen=True)
class Slot:
    """A position in the stack.

    Args:
        group: Name of the decision group of the cell in this slot; empty for a fixed block between stages.
        stride: 2 where the slot halves the resolution, else 1.
        width: Channels of the slot as a multiple of the network's first.
    """

    group: str
    stride: int = 1
    width: int = 1

    def __post_init__(self) -> None:
        if self.stride not in (1, 2) or self.width < 1:
            raise SpaceError(f"a slot has stride 1 or 2 and width >= 1, not {self.stride} and {self.width}")


@dataclass(frozen=True)
class Stack:
    """How cells follow each other, from stem to head.

    Args:
        cells: Number of cells: in all where cells reduce, in each stage otherwise.
        reduce: Block that halves the resolution and doubles the channels between stages: reduction cells
            (DARTS), a residual block (NAS-Bench-201) or a max-pooling (NAS-Bench-101).
        stages: Number of resolutions.
        shared: Whether cells of one kind share their decisions.
        stem: Channels of the stem as a multiple of the network's first.
        stem_relu: Whether the stem ends in a ReLU.
        head_norm: Whether a batch-norm and a ReLU precede the classifier.
        pool_norm: Whether a pooling candidate is followed by a batch-norm during a search (DARTS).
        layout: All slots from stem to head, where they do not follow from `cells`, `reduce`, `stages` and
            `shared`: chains of any strides and widths, or the places of decisions in a model of one's own.
    """

    cells: int
    reduce: Literal["cell", "residual", "pool"] = "cell"
    stages: int = 3
    shared: bool = True
    stem: int = 3
    stem_relu: bool = False
    head_norm: bool = False
    pool_norm: bool = True
    layout: tuple[Slot, ...] = ()

    def __post_init__(self) -> None:
        if self.reduce not in ("cell", "residual", "pool"):
            raise SpaceError(f"stages are joined by 'cell', 'residual' or 'pool', not {self.reduce!r}")
        for name in ("cells", "stages", "stem"):
            if getattr(self, name) < 1:
                raise SpaceError(f"a stack needs {name} >= 1, not {getattr(self, name)}")
        check_limit("the cells of a stack", self.cells, MAX_CELLS)
        check_limit("the stages of a stack", self.stages, MAX_STAGES)
        if self.layout:
            listed = sum(bool(slot.group) for slot in self.layout)
            if self.cells != listed:
                raise SpaceError(f"a stack of {self.cells} cells lists {listed} slots that are cells")
        elif self.reduce == "cell" and self.cells < self.stages:
            raise SpaceError(
                f"{self.cells} cells cannot make {self.stages} stages; use at least {self.stages}"
            )

    def slots(self) -> tuple[Slot, ...]:
        """All slots from stem to head."""
        if self.layout:
            return self.layout
        slots = []
        if self.reduce == "cell":
            reductions = {stage * self.cells // self.stages for stage in range(1, self.stages)}
            width = 1
            for index in range(self.cells):
                stride = 2 if index in reductions else 1
                width *= stride
                kind = "reduce" if stride == 2 else "normal"
                slots.append(Slot(kind if self.shared else f"cell{index:02d}", stride, width))
            return tuple(slots)
        for stage in range(self.stages):
            if stage:
                slots.append(Slot("", 2, 2**stage))
            cells = range(stage * self.cells, (stage + 1) * self.cells)
            names = ("cell" if self.shared else f"cell{index:02d}" for index in cells)
            slots += [Slot(name, 1, 2**stage) for name in names]
        return tuple(slots)


@dataclass(frozen=True)
class SearchSpace:
    """Cells to choose in, and the stack they are put into.

    Args:
        name: Name of the space.
        groups: Name and cell of each decision group, which one or more slots share.
        stack: How the cells follow each other.

    Examples:
        >>> from dartboard import get_space
        >>> space = get_space("darts")
        >>> space.discrete, len(space.ops), len(space.resized(20).without("none").ops)
        (False, 8, 7)
    """

    name: str
    groups: tuple[tuple[str, Cell], ...]
    stack: Stack

    def __post_init__(self) -> None:
        expected = {slot.group for slot in self.slots if slot.group}
        names = [group for group, _ in self.groups]
        if set(names) != expected or len(names) != len(expected):
            raise SpaceError(
                f"the stack of space {self.name!r} reads the cells {', '.join(sorted(expected))}, "
                f"but it has {', '.join(names) or 'none'}"
            )

    @property
    def cells(self) -> Mapping[str, Cell]:
        """The cell of each decision group."""
        return dict(self.groups)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """All slots of the stack, from stem to head."""
        return self.stack.slots()

    @property
    def discrete(self) -> bool:
        """Whether nothing is left to choose."""
        return all(cell.discrete for _, cell in self.groups)

    @property
    def ops(self) -> tuple[str, ...]:
        """Every op that is a candidate somewhere, in order of first appearance."""
        return tuple(dict.fromkeys(op for _, cell in self.groups for edge in cell.edges for op in edge.ops))

    def without(self, op: str) -> "SearchSpace":
        """The same space without the candidate `op`."""
        if op not in self.ops:
            raise SpaceError(
                f"space {self.name!r} has no op {op!r} to leave out; it has {', '.join(self.ops)}"
            )
        return replace(self, groups=tuple((group, cell.without(op)) for group, cell in self.groups))

    def resized(self, cells: int) -> "SearchSpace":
        """The same space with another number of cells; only shared cells can be repeated."""
        if cells != self.stack.cells and (self.stack.layout or not self.stack.shared):
            why = "slots are listed one by one" if self.stack.layout else "cells share nothing"
            raise SpaceError(
                f"space {self.name!r} has {self.stack.cells} cells, and its {why}; it cannot have {cells}"
            )
        return replace(self, stack=replace(self.stack, cells=cells))
