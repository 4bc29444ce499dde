"""Which edge of a cell is which edge of the cell that it is a part of."""

from dartboard.errors import NetworkError
from dartboard.space.spec import Cell, Edge


def match_edges(cell: Cell, whole: Cell) -> tuple[int, ...]:
    """For each edge of `cell` its position in `whole`, the cell that it is a part of.

    An edge fits one between the same nodes that has all its ops. Parallel edges keep their order.

    Raises:
        NetworkError: If an edge fits none.
    """
    found: list[int] = []
    for edge in cell.edges:
        left = (place for place in range(len(whole.edges)) if place not in found)
        place = next((place for place in left if _fits(edge, whole.edges[place])), None)
        if place is None:
            raise NetworkError(f"the supernet has no edge {edge} with {', '.join(edge.ops)}")
        found.append(place)
    return tuple(found)


def _fits(edge: Edge, other: Edge) -> bool:
    return (edge.source, edge.target) == (other.source, other.target) and {*edge.ops} <= {*other.ops}
