"""How the cells of a search formed, as numbers that a page replays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dartboard.report.models import Floats, SearchEpoch, SearchRun
from dartboard.space import NONE, Cell, Genotype, SearchSpace
from dartboard.space.genotype import decisions
from dartboard.viz.cell_graph import op_family, op_label
from dartboard.viz.svg import svg_cell

SCALE, FINE_SCALE = 1000, 100_000
"""Strengths are written as integers of this fraction; the second where they are close to each other."""
CLOSE = 0.05
"""Strengths whose range is at most this are close."""
MAX_STRENGTHS = 900_000
"""Strengths in a report; where a run would have more, epochs are left out."""


def replay_search(search: SearchRun, max_strengths: int = MAX_STRENGTHS) -> dict[str, Any]:
    """Cells, epochs and strengths of a search, ready for JSON.

    Args:
        search: The search.
        max_strengths: Epochs are evenly left out where there are more, never the first or last.
    """
    space, scale = search.space, choose_scale(search.epochs, search.space)
    shown = thin_epochs(search.epochs, space, max_strengths if scale == SCALE else max_strengths // 2)
    frames = [_make_frame(space, epoch.genotype, epoch, scale) for epoch in shown]
    labels = [f"epoch {epoch.epoch}" for epoch in shown]
    if search.result is not None and search.genotype is not None and shown:
        frames.append(_make_frame(space, search.genotype, shown[-1], scale))
        labels.append("final choice")
    return {
        "scale": scale,
        "archs": [_describe_arch(name, cell) for name, cell in space.groups],
        "epochs": [epoch.epoch for epoch in shown],
        "words": labels,
        "frames": frames,
        "left_out": len(search.epochs) - len(shown),
    }


def still_frame(genotype: Genotype) -> dict[str, Any]:
    """Discrete cells, ready for JSON: one frame in which all edges are chosen."""
    groups = [_describe_arch(name, cell) for name, cell in genotype.groups]
    frame = {
        name: {
            "chosen": [_op_index(cell, index, edge.ops[0]) for index, edge in enumerate(cell.edges)],
            "ops": [[SCALE] for _ in cell.edges],
            "edges": [SCALE for _ in cell.edges],
        }
        for name, cell in genotype.groups
    }
    return {
        "scale": SCALE,
        "archs": groups,
        "epochs": [],
        "words": ["cell"],
        "frames": [frame],
        "left_out": 0,
    }


def choose_scale(epochs: Sequence[SearchEpoch], space: SearchSpace) -> int:
    """The scale at which the strengths of one search can be told apart."""
    values = [
        epoch.ops[group][index, : len(edge.ops)]
        for epoch in epochs
        for group, cell in space.groups
        for index, edge in enumerate(cell.edges)
        if len(edge.ops) > 1
    ]
    return FINE_SCALE if values and np.ptp(np.concatenate(values)) <= CLOSE else SCALE


def thin_epochs(epochs: Sequence[SearchEpoch], space: SearchSpace, max_strengths: int) -> list[SearchEpoch]:
    """The epochs that are shown: all, or as many as have no more than `max_strengths` strengths."""
    size = sum(len(edge.ops) for _, cell in space.groups for edge in cell.edges)
    count = min(len(epochs), max(max_strengths // max(size, 1), 2))
    places = np.linspace(0, len(epochs) - 1, count).round().astype(int).tolist()
    return [epochs[place] for place in dict.fromkeys(places)]


def _describe_arch(name: str, cell: Cell) -> dict[str, Any]:
    edges = [
        {
            "name": f"{edge.source} \N{RIGHTWARDS ARROW} {edge.target}",
            "ops": [
                {"name": op, "brief": op_label(op, short=True), "family": op_family(op)} for op in edge.ops
            ],
        }
        for edge in cell.edges
    ]
    return {"name": name, "plan": svg_cell(cell), "edges": edges}


def _make_frame(space: SearchSpace, genotype: Genotype, epoch: SearchEpoch, scale: int) -> dict[str, Any]:
    """For each group the chosen ops of a genotype and the strengths after an epoch, as integers."""
    chosen = decisions(space, genotype)
    return {
        name: {
            "chosen": [_op_index(cell, index, chosen[name].get(index)) for index in range(len(cell.edges))],
            "ops": [
                _integers(epoch.ops[name][index, : len(edge.ops)], scale)
                for index, edge in enumerate(cell.edges)
            ],
            "edges": _integers(epoch.edges[name], scale),
        }
        for name, cell in space.groups
    }


def _integers(values: Floats, scale: int) -> list[int]:
    return [int(value) for value in np.rint(values * scale)]


def _op_index(cell: Cell, edge: int, op: str | None) -> int:
    """The index of an op among an edge's candidates; -1 where the edge is absent."""
    return -1 if op is None or op == NONE else cell.edges[edge].ops.index(op)
