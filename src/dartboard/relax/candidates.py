"""Which candidates of a cell are alive, as a mask for tensors and as a tuple for the network."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from dartboard.errors import RelaxationError
from dartboard.nn.mixture import Live, all_live
from dartboard.space.spec import Cell


class Candidates(nn.Module):
    """The candidates of one cell that are alive.

    The mask is a buffer and so part of every checkpoint; `live` says the same without asking the device.

    Args:
        cell: The cell, all of whose candidates are alive at first.
    """

    mask: Tensor
    """Which candidates are alive [E, N], N being the most an edge has."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell
        self.live: Live = all_live(cell)
        self.register_buffer("mask", op_mask(cell))
        self.register_load_state_dict_post_hook(_read)  # type: ignore[no-untyped-call]

    def kill(self, edge: int, place: int) -> None:
        """Removes one candidate; see `Relaxation.kill`."""
        if not 0 <= edge < len(self.live) or place not in self.live[edge]:
            raise RelaxationError(f"no candidate {place} on edge {edge}; there are {self._alive(edge)}")
        if len(self.live[edge]) == 1:
            raise RelaxationError(f"candidate {place} is the last of edge {edge}; an edge keeps at least one")
        self.mask[edge, place] = False
        self._read_mask()

    def _alive(self, edge: int) -> str:
        if not 0 <= edge < len(self.live):
            return f"those of edges 0 to {len(self.live) - 1}"
        return ", ".join(map(str, self.live[edge]))

    def _read_mask(self) -> None:
        rows = self.mask.tolist()
        self.live = tuple(tuple(place for place, alive in enumerate(row) if alive) for row in rows)


def _read(module: Candidates, _: object) -> None:
    """After a load: the tuple follows the mask."""
    module._read_mask()


def op_mask(cell: Cell) -> Tensor:
    """Which places of a table [E, N] are candidates; edges may have fewer than the most."""
    most = cell.shape[1]
    return torch.tensor([[place < len(edge.ops) for place in range(most)] for edge in cell.edges])


def edge_groups(cell: Cell, *, every_node: bool) -> list[tuple[int, ...]]:
    """The edges that share a weight of one among them, by position.

    The edges of a weighted contest always do. With `every_node` those of every other contest do too, and
    the edges in no contest that enter the same node, except plain connections into joins. A group of one is
    none: its weight could only be one.
    """
    groups = [contest.edges for contest in cell.contests if contest.weighted or every_node]
    if every_node:
        for node in cell.inner:
            free = tuple(edge for edge in cell.entering(node) if cell.contest_of(edge) is None)
            groups += [] if node in cell.joins else [free]
    return [group for group in groups if len(group) > 1]


def group_mask(groups: Sequence[tuple[int, ...]]) -> Tensor:
    """Which places of a table [G, W] are edges, W being the size of the largest group."""
    most = max(map(len, groups))
    return torch.tensor([[place < len(group) for place in range(most)] for group in groups])


def group_places(cell: Cell, groups: Sequence[tuple[int, ...]]) -> Tensor:
    """For each edge [E] where the flat table of `groups` has its weight; just after its end if nowhere."""
    most = max(map(len, groups))
    places: Mapping[int, int] = {
        edge: row * most + place for row, group in enumerate(groups) for place, edge in enumerate(group)
    }
    return torch.tensor([places.get(edge, len(groups) * most) for edge in range(len(cell.edges))])
