"""What a trained supernet attends to: a heat map of edges and ops for each cell (asm-nas 5.3.3)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from dartboard.search.evaluate import accuracy
from dartboard.search.load import load_searcher
from dartboard.search.select import Batches
from dartboard.space.spec import Cell, SearchSpace
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """How strong the candidates of one cell are.

    Args:
        arch: Whose decisions it shows.
        cells: The cells of the stack that it is of, from 1; several where they share it.
        reduces: Whether these cells halve the resolution.
        edges: Source and target of each edge that has something to choose.
        ops: The names of the columns.
        weights: Of each op on each edge [edges, ops], rows on the simplex; nan where an edge has no such
            candidate.
    """

    arch: str
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
        several = (
            f"cells {', '.join(map(str, self.cells))}" if len(self.cells) > 1 else f"cell {self.cells[0]}"
        )
        return f"{several}, reduces" if self.reduces else several

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        weights = [[None if np.isnan(own) else own for own in row] for row in self.weights.tolist()]
        return {
            "arch": self.arch,
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
    tell: Progress = no_progress,
) -> list[AttentionMap]:
    """The heat maps of a search, front to back, from its last checkpoint.

    With attention (ASM) each cell of the stack has its own, the mean over the held-out images with all edges
    mixed. Other methods have strengths that are the same for all images: one map for each arch.

    Args:
        run: Of a search; it need not be finished.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        tell: Is told how far the loading of images and the pass over them are.

    Raises:
        DartboardError: If it is no run of a search, or has no checkpoint that can be read.
    """
    run = run if isinstance(run, Run) else Run.read(run)
    searcher = load_searcher(run, device, fall_back=fall_back, progress=tell)
    total = min(len(searcher.loaders.valid), searcher.options.health.examples)
    return heat_maps(searcher.objective, lambda: _told(searcher.valid_batches(), total, tell))


def _told(batches: Iterable[Batch], total: int, tell: Progress) -> Iterator[Batch]:
    """The batches; before each one is told how many images have passed."""
    done = 0
    for batch in batches:
        tell("attention", done, total)
        yield batch
        done += len(batch[1])


def heat_maps(objective: Objective, valid: Batches) -> list[AttentionMap]:
    """The heat maps of a trained network under its relaxation, of which nothing is changed.

    Args:
        objective: The network and its relaxation.
        valid: Held-out images.
    """
    space, relaxation = objective.net.space, objective.relaxation
    numbers = _numbers(space)
    if isinstance(relaxation, Attention):
        found = slot_attention(objective, relaxation, valid)
        return [_heat_map(space, [index], numbers, found[index]) for index in numbers]
    strengths = relaxation.strengths()
    return [
        _heat_map(space, _readers(space, arch), numbers, own.ops.detach()) for arch, own in strengths.items()
    ]


def slot_attention(objective: Objective, relaxation: Attention, valid: Batches) -> dict[int, Tensor]:
    """Mean attention [E, N] over all held-out images, for each slot that has something to choose."""
    before = {name: buffer.clone() for name, buffer in relaxation.named_buffers()}
    with relaxation.collecting():
        accuracy(objective, relaxation, valid())
    slots = {int(index): cast(SlotAttention, own) for index, own in relaxation.slots.items()}
    found = {index: own.average.clone() for index, own in slots.items()}
    for name, buffer in relaxation.named_buffers():
        buffer.copy_(before[name])
    return found


def _numbers(space: SearchSpace) -> dict[int, int]:
    """By slot, the number of the cell in it; blocks between stages have none."""
    slots = [index for index, slot in enumerate(space.slots) if slot.arch]
    return {index: number for number, index in enumerate(slots, 1)}


def _readers(space: SearchSpace, arch: str) -> list[int]:
    return [index for index, slot in enumerate(space.slots) if slot.arch == arch]


def _heat_map(
    space: SearchSpace, slots: Sequence[int], numbers: dict[int, int], weights: Tensor
) -> AttentionMap:
    slot = space.slots[slots[0]]
    cell = space.cells[slot.arch]
    edges = tuple((cell.edges[index].source, cell.edges[index].target) for index in open_edges(cell))
    ops = tuple(dict.fromkeys(op for index in open_edges(cell) for op in cell.edges[index].ops))
    table = _table(cell, ops, weights.double().cpu().numpy())
    return AttentionMap(slot.arch, tuple(numbers[own] for own in slots), slot.stride == 2, edges, ops, table)


def _table(cell: Cell, ops: Sequence[str], weights: Floats) -> Floats:
    """Weights [open edges, ops] by the names of ops; nan where an edge has no such candidate."""
    table = np.full((len(open_edges(cell)), len(ops)), np.nan)
    for row, index in zip(table, open_edges(cell), strict=True):
        for place, op in enumerate(cell.edges[index].ops):
            row[ops.index(op)] = weights[index, place]
    return table


def plot_attention(maps: Sequence[AttentionMap]) -> "Figure":
    """A heat map for each cell, edges down and ops across, all with the same colors."""
    from dartboard.viz.plots import HeatMap, plot_heat_maps

    panels = [
        HeatMap(one.title, [f"{source}-{target}" for source, target in one.edges], one.ops, one.weights)
        for one in maps
    ]
    return plot_heat_maps(panels, "weight")
