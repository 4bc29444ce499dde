"""The default way to compute a cell: node by node, all that leaves a node at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dartboard.nn.fast.fanout import Candidate, Parts, Weights, gather, outputs, spread
from dartboard.nn.mixture import Blend
from dartboard.nn.node_source import Source
from dartboard.nn.ops import Zero

if TYPE_CHECKING:
    from dartboard.nn.cell import CellModule


def fused_nodes(
    module: "CellModule", entering: Sequence[Tensor], blend: Blend, drop: Tensor | None
) -> list[Tensor]:
    """All nodes of a cell, the inputs included; takes and gives what `plain_nodes` does."""
    return _Pass(module, blend, drop).run(entering)


class _Pass:
    """One pass through a cell: what has arrived along each edge so far."""

    def __init__(self, module: "CellModule", blend: Blend, drop: Tensor | None) -> None:
        self.module, self.cell, self.blend = module, module.cell, blend
        self.weights = Weights(blend, drop)
        self.arrived = [Parts() for _ in self.cell.edges]
        self.bypassed = [Parts() for _ in self.cell.edges]

    def run(self, entering: Sequence[Tensor]) -> list[Tensor]:
        nodes = list(entering)
        for node in range(self.cell.nodes):
            if node in self.cell.inner:
                nodes.append(self._collect(node, entering[0]))
            self._leave(node, nodes[node])
        return nodes

    def _leave(self, node: int, x: Tensor) -> None:
        """Computes every live candidate on the edges that leave `node`."""
        edges = [i for i, edge in enumerate(self.cell.edges) if edge.source == node and self.blend.live[i]]
        for partial in sorted({self.module.partial(edge) for edge in edges}):
            own = [edge for edge in edges if self.module.partial(edge) == partial]
            head, rest = self.module.divide(own[0], x)
            self._spread(Source(head), own)
            if rest is not None:
                for edge in own:
                    weight = None if self.blend.edges is None else self.blend.edges[..., edge]
                    self.bypassed[edge].add(rest, weight)

    def _spread(self, source: Source, edges: Sequence[int]) -> None:
        candidates = [candidate for edge in edges for candidate in self.module.candidates(edge, self.blend)]
        present = [candidate for candidate in candidates if not isinstance(candidate.op, Zero)]
        if self.blend.attend is None:
            spread(source, present, self.weights, self.arrived)
            return
        found = dict(outputs(source, present))
        for edge in edges:
            own = [candidate for candidate in candidates if candidate.edge == edge]
            values = [found[c] if c in found else c.op(source.x) for c in own]
            weights = self.blend.attend(edge, values).unbind(-1)
            self._add(own, values, weights)

    def _add(
        self, candidates: Sequence[Candidate], values: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> None:
        """Adds the outputs of an edge's candidates with the weights that attention gives them."""
        for candidate, value, weight in zip(candidates, values, weights, strict=True):
            if not isinstance(candidate.op, Zero):
                factor = self.weights.of(candidate)
                self.arrived[candidate.edge].add(value, weight if factor is None else weight * factor)

    def _collect(self, node: int, first: Tensor) -> Tensor:
        """A node from what has arrived along its edges; what is summed anyway is summed at once."""
        edges = self.cell.entering(node)
        groups = [(edge,) for edge in edges] if node in self.cell.concat else [edges]
        values = {group[0]: value for group in groups if group and (value := self._total(group)) is not None}
        return self.module.join(node, values, first)

    def _total(self, edges: Sequence[int]) -> Tensor | None:
        """The sum of some edges, the channels that bypass the candidates included; None for nothing."""
        total = gather([self.arrived[edge] for edge in edges])
        rest = gather([self.bypassed[edge] for edge in edges])
        if rest is None:
            return total
        if total is None:
            total = torch.zeros_like(rest[:, :1]).expand(
                -1, self.module.options.width - rest.shape[1], -1, -1
            )
        return self.module.shuffle(torch.cat([total, rest], dim=1))
