"""The plain formula: every edge is the weighted sum of its ops, every node the sum of its edges.

This is the readable reference that the default path is tested against, and what most code bases run.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dartboard.nn.fast.fanout import times
from dartboard.nn.mixture import Blend

if TYPE_CHECKING:
    from dartboard.nn.cell import CellModule


def plain_nodes(
    module: "CellModule", entering: Sequence[Tensor], blend: Blend, drop: Tensor | None
) -> list[Tensor]:
    """All nodes of a cell, the inputs included.

    Args:
        module: The cell.
        entering: The input nodes.
        blend: How the candidates are blended.
        drop: Drop-path factors [B, E], or None.
    """
    nodes = list(entering)
    for node in module.cell.inner:
        edges = [edge for edge in module.cell.entering(node) if blend.live[edge]]
        values = {edge: _edge(module, edge, nodes, blend, drop) for edge in edges}
        nodes.append(module.join(node, values, entering[0]))
    return nodes


def _edge(
    module: "CellModule", edge: int, nodes: Sequence[Tensor], blend: Blend, drop: Tensor | None
) -> Tensor:
    """The value of one edge."""
    x, rest = module.divide(edge, nodes[module.cell.edges[edge].source])
    candidates = module.candidates(edge, blend)
    outputs = [candidate.op(x) for candidate in candidates]
    weights: Sequence[Tensor | None] = [None] * len(candidates)
    if blend.attend is not None:
        weights = blend.attend(edge, outputs).unbind(-1)
    elif blend.ops is not None:
        weights = [blend.ops[..., edge, candidate.place] for candidate in candidates]
    terms = [times(output, weight) for output, weight in zip(outputs, weights, strict=True)]
    if drop is not None:
        terms = [
            term if candidate.op.passthrough else times(term, drop[:, edge])
            for term, candidate in zip(terms, candidates, strict=True)
        ]
    total = sum(terms[1:], terms[0])
    if rest is not None:
        total = module.shuffle(torch.cat([total, rest], dim=1))
    return times(total, None if blend.edges is None else blend.edges[..., edge])
