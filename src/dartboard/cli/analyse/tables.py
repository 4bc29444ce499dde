"""Tables for people."""

from collections.abc import Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]], left: int) -> Iterator[tuple[str, ...]]:
    """The rows with columns that are as wide as their widest cell.

    Args:
        rows: All with the same number of cells.
        left: So many columns begin at the left, those after end at the right.
    """
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, wide, strict=True)
        yield tuple(
            text.ljust(own) if place < left else text.rjust(own) for place, (text, own) in enumerate(cells)
        )
