"""How the cells of a search formed, as numbers that a page replays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dartboard.report.models import Floats, Moment, SearchFound
from dartboard.space import NONE, Cell, Genotype, SearchSpace
from dartboard.space.genotype import decisions
from dartboard.viz.cell_graph import op_family, op_label
from dartboard.viz.svg import svg_cell

SCALE, FINE = 1000, 100_000
"""Strengths are written as whole numbers of this part of one: of the second where they are close."""
CLOSE = 0.05
"""Strengths that differ by no more than this are close to each other."""
MOST = 900_000
"""Strengths in a report; where a run would have more, epochs are left out."""


def replay(search: SearchFound, most: int = MOST) -> dict[str, Any]:
    """Cells, epochs and strengths of a search, ready for JSON.

    Args:
        search: The search.
        most: Strengths at most; epochs are left out evenly where there are more, never the first or last.
    """
    space, scale = search.space, scale_of(search.moments, search.space)
    shown = thinned(search.moments, space, most if scale == SCALE else most // 2)
    frames = [_frame(space, own.genotype, own, scale) for own in shown]
    words = [f"epoch {own.epoch}" for own in shown]
    if search.result is not None and search.genotype is not None and shown:
        frames.append(_frame(space, search.genotype, shown[-1], scale))
        words.append("final choice")
    return {
        "scale": scale,
        "archs": [_arch(name, cell) for name, cell in space.archs],
        "epochs": [own.epoch for own in shown],
        "words": words,
        "frames": frames,
        "left_out": len(search.moments) - len(shown),
    }


def still(genotype: Genotype) -> dict[str, Any]:
    """Discrete cells, ready for JSON: one frame in which all edges are chosen."""
    archs = [_arch(name, cell) for name, cell in genotype.archs]
    frame = {name: _discrete(cell) for name, cell in genotype.archs}
    return {"scale": SCALE, "archs": archs, "epochs": [], "words": ["cell"], "frames": [frame], "left_out": 0}


def scale_of(moments: Sequence[Moment], space: SearchSpace) -> int:
    """In what part of one strengths are told, so that those of one search can be told apart."""
    values = [
        own.ops[arch][index, : len(edge.ops)]
        for own in moments
        for arch, cell in space.archs
        for index, edge in enumerate(cell.edges)
        if len(edge.ops) > 1
    ]
    return FINE if values and np.ptp(np.concatenate(values)) <= CLOSE else SCALE


def thinned(moments: Sequence[Moment], space: SearchSpace, most: int) -> list[Moment]:
    """The moments that are shown: all, or so many that there are no more than `most` strengths."""
    size = sum(len(edge.ops) for _, cell in space.archs for edge in cell.edges)
    count = min(len(moments), max(most // max(size, 1), 2))
    places = np.linspace(0, len(moments) - 1, count).round().astype(int).tolist()
    return [moments[place] for place in dict.fromkeys(places)]


def _arch(name: str, cell: Cell) -> dict[str, Any]:
    return {
        "name": name,
        "plan": svg_cell(cell),
        "edges": [_edge(cell, index) for index in range(len(cell.edges))],
    }


def _edge(cell: Cell, index: int) -> dict[str, Any]:
    edge = cell.edges[index]
    return {
        "name": f"{edge.source} \N{RIGHTWARDS ARROW} {edge.target}",
        "ops": [{"name": op, "brief": op_label(op, short=True), "family": op_family(op)} for op in edge.ops],
    }


def _frame(space: SearchSpace, genotype: Genotype, moment: Moment, scale: int) -> dict[str, Any]:
    taken, ops = decisions(space, genotype), moment.ops
    return {
        name: {
            "chosen": [_place(cell, index, taken[name].get(index)) for index in range(len(cell.edges))],
            "ops": [_whole(ops[name][index, : len(e.ops)], scale) for index, e in enumerate(cell.edges)],
            "edges": _whole(moment.edges[name], scale),
        }
        for name, cell in space.archs
    }


def _place(cell: Cell, index: int, op: str | None) -> int:
    """The place of an edge's op among its candidates; -1 where the edge is not there."""
    return -1 if op is None or op == NONE else cell.edges[index].ops.index(op)


def _whole(values: Floats, scale: int) -> list[int]:
    return [int(own) for own in np.rint(values * scale)]


def _discrete(cell: Cell) -> dict[str, Any]:
    return {
        "chosen": [_place(cell, index, edge.ops[0]) for index, edge in enumerate(cell.edges)],
        "ops": [[SCALE] for _ in cell.edges],
        "edges": [SCALE for _ in cell.edges],
    }
