"""Attention of a trained supernet: a heat map of edges and ops for each cell (asm-nas 5.3.3)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from dartboard.analysis.trajectory import Floats, open_edges
from dartboard.arch.objective import Batch, Objective
from dartboard.relax.attention import Attention, SlotAttention
from dartboard.runs import Run
from dartboard.search.health import accuracy
from dartboard.search.searcher import load_searcher
from dartboard.search.select import Batches
from dartboard.space.spec import SearchSpace
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """The strengths of the candidates of a cell.

    Args:
        group: The group whose decisions it shows.
        cells: Numbers of the cells of the stack, from 1; several where they share the decisions.
        reduces: Whether these cells halve the resolution.
        edges: Source and target of each edge that has something to choose.
        ops: The names of the columns.
        weights: Weight of each op on each edge [edges, ops], rows on the simplex; NaN where an edge has no
            such candidate.
    """

    group: str
    cells: tuple[int, ...]
    reduces: bool
    edges: tuple[tuple[int, int], ...]
    ops: tuple[str, ...]
    weights: Floats

    @property
    def strongest(self) -> dict[str, int]:
        """For how many edges each op is the strongest; ops that are so nowhere are left out."""
        return dict(Counter(self.ops[place] for place in np.nanargmax(self.weights, axis=1)))

    @property
    def means(self) -> dict[str, float]:
        """The mean weight of each op, over the edges that have it."""
        return dict(zip(self.ops, np.nanmean(self.weights, axis=0).tolist(), strict=True))

    @property
    def title(self) -> str:
        """Such as `cell 5, reduces`."""
        cells = f"cell{'s' if len(self.cells) > 1 else ''} {', '.join(map(str, self.cells))}"
        return f"{cells}, reduces" if self.reduces else cells

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        weights = [[None if np.isnan(weight) else weight for weight in row] for row in self.weights.tolist()]
        return {
            "arch": self.group,
            "cells": self.cells,
            "reduces": self.reduces,
            "edges": self.edges,
            "ops": self.ops,
            "weights": weights,
            "strongest": self.strongest,
        }


def attention(
    run: Run | str | Path,
    device: torch.device | str = "cpu",
    *,
    fall_back: bool = False,
    progress: Progress = no_progress,
) -> list[AttentionMap]:
    """The heat maps of a search, front to back, from its last checkpoint.

    With attention (ASM) each cell of the stack has its own, the mean over the held-out images with all edges
    mixed. Other methods have strengths that are the same for all images: one map for each group.

    Args:
        run: Of a search; it need not be finished.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        progress: Called while images are loaded and passed through the network.

    Raises:
        DartboardError: If it is not a run of a search, or has no checkpoint that can be read.
    """
    run = run if isinstance(run, Run) else Run.read(run)
    searcher = load_searcher(run, device, fall_back=fall_back, progress=progress)
    total = min(len(searcher.loaders.valid), searcher.options.health.examples)

    def valid_batches() -> Iterator[Batch]:
        done = 0
        for batch in searcher.valid_batches():
            progress("attention", done, total)
            yield batch
            done += len(batch[1])

    return attention_maps(searcher.objective, valid_batches)


def attention_maps(objective: Objective, valid: Batches) -> list[AttentionMap]:
    """The heat maps of a trained network under its relaxation, from held-out images; nothing is changed."""
    space, relaxation = objective.net.space, objective.relaxation
    searched = [index for index, slot in enumerate(space.slots) if slot.group]
    numbers = {index: number for number, index in enumerate(searched, 1)}
    if isinstance(relaxation, Attention):
        before = {name: buffer.clone() for name, buffer in relaxation.named_buffers()}
        with relaxation.collecting():
            accuracy(objective, relaxation, valid())
        slots = {int(index): cast(SlotAttention, slot) for index, slot in relaxation.slots.items()}
        means = {index: slot.average.clone() for index, slot in slots.items()}  # over all images, [E, N]
        for name, buffer in relaxation.named_buffers():
            buffer.copy_(before[name])
        return [_attention_map(space, [index], numbers, means[index]) for index in numbers]
    maps = []
    for group, strength in relaxation.strengths().items():
        sharing = [index for index, slot in enumerate(space.slots) if slot.group == group]
        maps.append(_attention_map(space, sharing, numbers, strength.ops.detach()))
    return maps


def _attention_map(
    space: SearchSpace, slots: Sequence[int], numbers: dict[int, int], weights: Tensor
) -> AttentionMap:
    """The map of slots that share a cell, from weights by edge and position of the candidate [E, N]."""
    slot = space.slots[slots[0]]
    cell = space.cells[slot.group]
    open_ = open_edges(cell)
    edges = tuple((cell.edges[index].source, cell.edges[index].target) for index in open_)
    ops = tuple(dict.fromkeys(op for index in open_ for op in cell.edges[index].ops))
    table, values = np.full((len(open_), len(ops)), np.nan), weights.double().cpu().numpy()
    for row, index in zip(table, open_, strict=True):
        for place, op in enumerate(cell.edges[index].ops):
            row[ops.index(op)] = values[index, place]
    return AttentionMap(
        slot.group, tuple(map(numbers.__getitem__, slots)), slot.stride == 2, edges, ops, table
    )


def plot_attention(maps: Sequence[AttentionMap]) -> "Figure":
    """A heat map for each cell, edges down and ops across, all with the same colors."""
    from dartboard.viz.plots import HeatMap, plot_heat_maps

    panels = [
        HeatMap(one.title, [f"{source}-{target}" for source, target in one.edges], one.ops, one.weights)
        for one in maps
    ]
    return plot_heat_maps(panels, "weight")
