"""Figures as files, whole or not at all."""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from dartboard.utils.atomic import write_bytes

METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
"""By format, what is said in the file."""


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as SVG and as PNG and returns both paths; the same figure gives the same bytes.

    Args:
        figure: What to write.
        path: Where, without an ending; its folder must be there.
    """
    return [save_as(figure, path.with_name(f"{path.name}.{ending}")) for ending in ("svg", "png")]


def save_as(figure: Figure, path: Path) -> Path:
    """Writes a figure in the format that the ending names, a key of `METADATA`, and returns its path."""
    file, ending = io.BytesIO(), path.suffix[1:]
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(file, format=ending, dpi=150, metadata=METADATA[ending])
    write_bytes(path, file.getvalue())
    return path
