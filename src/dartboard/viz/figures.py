"""Writes figures to files, atomically."""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from dartboard.utils.atomic import write_bytes

METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}
"""Metadata of the file, by format; without dates, so that the same figure gives the same bytes."""


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as SVG and as PNG and returns both paths; the same figure gives the same bytes.

    `path` has no suffix, and its folder must exist.
    """
    return [save_as(figure, path.with_name(f"{path.name}.{suffix}")) for suffix in ("svg", "png")]


def save_as(figure: Figure, path: Path) -> Path:
    """Writes a figure in the format of the suffix, a key of `METADATA`, and returns its path."""
    file, suffix = io.BytesIO(), path.suffix[1:]
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(file, format=suffix, dpi=150, metadata=METADATA[suffix])
    write_bytes(path, file.getvalue())
    return path
