"""The cell and how it formed: drawings that a slider replays, and strengths as heat maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dartboard.report.report_runs import Floats, SearchEpoch, SearchRun
from dartboard.report.sections.base import ReportContext, Section, genotype_text
from dartboard.space import NONE, Cell, Genotype, SearchSpace
from dartboard.space.genotype import decisions
from dartboard.viz.cell_graph import FAMILY_COLORS, op_family, op_label
from dartboard.viz.svg import svg_cell

SCALE, FINE_SCALE = 1000, 100_000
"""Strengths are written as integers of this fraction; the second where they are close to each other."""
CLOSE = 0.05
"""Strengths whose range is at most this are close."""
MAX_STRENGTHS = 900_000
"""Strengths in a report; where a run would have more, epochs are left out."""


def cell(context: ReportContext) -> Section | None:
    """The cells of searches over epochs, with a slider and a button that plays them."""
    shown = [search for search in context.searches if search.epochs]
    if not shown:
        return None
    names = context.names
    runs = [{"name": names[search], **replay_search(search, MAX_STRENGTHS // len(shown))} for search in shown]
    families = {op_family(op) for search in shown for op in search.space.ops}
    values = {
        "runs": runs,
        "has_many_groups": any(len(run["groups"]) > 2 for run in runs),
        "families": [name for name in FAMILY_COLORS if name in families and name != "none"],
        "left_out": max(run["left_out"] for run in runs),
    }
    about = (
        "The thicker a line, the stronger its best op. Lines in color are what would be chosen "
        "then; gray ones would be left out."
    )
    return Section("cell", "How the cell formed", "cell.html", values, about)


def strengths(context: ReportContext) -> Section | None:
    """The strength of every op of every edge over the epochs."""
    if not any(len(search.epochs) > 1 for search in context.searches):
        return None
    about = (
        "A row for each candidate, a column for each epoch. The line marks the epoch that the slider shows."
    )
    values = {"key": "heat", "target": "heat"}
    return Section("strengths", "Strengths of ops, edge by edge", "heat.html", values, about)


def attention(context: ReportContext) -> Section | None:
    """The attention of each cell, for searches whose strengths are attention weights."""
    if not any(search.uses_attention and search.epochs for search in context.searches):
        return None
    about = (
        "The mean attention that each op of each edge is given, for every cell of the stack, at the epoch "
        "that the slider shows."
    )
    values = {"key": "map", "target": "attention-maps"}
    return Section("attention", "Attention maps", "heat.html", values, about)


def genotypes(context: ReportContext) -> Section | None:
    """The chosen cells of several searches or trainings side by side."""
    names = context.names
    chosen = {names[search]: search.genotype for search in context.searches if search.genotype is not None}
    if not context.searches:
        chosen = {run.info.name: run.genotype for run in context.runs.trainings}
    if len(chosen) < 2 and context.searches:
        return None
    values = {
        "texts": {name: genotype_text(genotype) for name, genotype in chosen.items()},
        "drawings": [{"name": name, **still_frame(genotype)} for name, genotype in chosen.items()],
    }
    title = "Cells side by side" if len(chosen) > 1 else "The cell"
    return Section("genotypes", title, "genotypes.html", values)


# Cells, epochs and strengths as values of JSON, which assets/cells.js draws.


def replay_search(search: SearchRun, max_strengths: int = MAX_STRENGTHS) -> dict[str, Any]:
    """Cells, epochs and strengths of a search; epochs are evenly left out where there are more strengths.

    The first and the last epoch are never left out.
    """
    space, epochs = search.space, search.epochs
    scale = _choose_scale(epochs, space)
    size = sum(len(edge.ops) for _, cell in space.groups for edge in cell.edges)
    limit = max_strengths if scale == SCALE else max_strengths // 2
    count = min(len(epochs), max(limit // max(size, 1), 2))
    indices = np.linspace(0, len(epochs) - 1, count).round().astype(int).tolist()
    shown = [epochs[index] for index in dict.fromkeys(indices)]
    frames = [_make_frame(space, epoch.genotype, epoch, scale) for epoch in shown]
    labels = [f"epoch {epoch.epoch}" for epoch in shown]
    if search.result is not None and search.genotype is not None and shown:
        frames.append(_make_frame(space, search.genotype, shown[-1], scale))
        labels.append("final choice")
    return {
        "scale": scale,
        "groups": [_describe_group(group, cell) for group, cell in space.groups],
        "epochs": [epoch.epoch for epoch in shown],
        "words": labels,
        "frames": frames,
        "left_out": len(epochs) - len(shown),
    }


def still_frame(genotype: Genotype) -> dict[str, Any]:
    """Discrete cells: one frame in which all edges are chosen."""
    frame = {
        group: {
            "chosen": [-1 if edge.ops[0] == NONE else 0 for edge in cell.edges],
            "ops": [[SCALE] for _ in cell.edges],
            "edges": [SCALE for _ in cell.edges],
        }
        for group, cell in genotype.groups
    }
    return {
        "scale": SCALE,
        "groups": [_describe_group(group, cell) for group, cell in genotype.groups],
        "epochs": [],
        "words": ["cell"],
        "frames": [frame],
        "left_out": 0,
    }


def _choose_scale(epochs: Sequence[SearchEpoch], space: SearchSpace) -> int:
    """The scale at which the strengths of one search can be told apart."""
    values = [
        epoch.ops[group][index, : len(edge.ops)]
        for epoch in epochs
        for group, cell in space.groups
        for index, edge in enumerate(cell.edges)
        if len(edge.ops) > 1
    ]
    return FINE_SCALE if values and np.ptp(np.concatenate(values)) <= CLOSE else SCALE


def _describe_group(group: str, cell: Cell) -> dict[str, Any]:
    edges = [
        {
            "name": f"{edge.source} \N{RIGHTWARDS ARROW} {edge.target}",
            "ops": [
                {"name": op, "brief": op_label(op, short=True), "family": op_family(op)} for op in edge.ops
            ],
        }
        for edge in cell.edges
    ]
    return {"name": group, "plan": svg_cell(cell), "edges": edges}


def _make_frame(space: SearchSpace, genotype: Genotype, epoch: SearchEpoch, scale: int) -> dict[str, Any]:
    """For each group the chosen ops of a genotype, -1 where an edge is absent, and the strengths."""
    frame, choices = {}, decisions(space, genotype)
    for group, cell in space.groups:
        chosen = [choices[group].get(index, NONE) for index in range(len(cell.edges))]
        frame[group] = {
            "chosen": [
                -1 if op == NONE else edge.ops.index(op) for op, edge in zip(chosen, cell.edges, strict=True)
            ],
            "ops": [
                _integers(epoch.ops[group][index, : len(edge.ops)], scale)
                for index, edge in enumerate(cell.edges)
            ],
            "edges": _integers(epoch.edges[group], scale),
        }
    return frame


def _integers(values: Floats, scale: int) -> list[int]:
    return [int(value) for value in np.rint(values * scale)]  # fails for what is not finite
