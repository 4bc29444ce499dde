"""Figures as files, whole or not at all."""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from dartboard.atomic import write_bytes

METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}}
"""By format, what is said in the file."""


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as SVG and as PNG and returns both paths; the same figure gives the same bytes.

    Args:
        figure: What to write.
        path: Where, without an ending; its folder must be there.
    """
    return [_save(figure, path, ending) for ending in METADATA]


def _save(figure: Figure, path: Path, ending: str) -> Path:
    file, whole = io.BytesIO(), path.with_name(f"{path.name}.{ending}")
    with mpl.rc_context({"svg.hashsalt": path.name}):
        figure.savefig(file, format=ending, dpi=150, metadata=METADATA[ending])
    write_bytes(whole, file.getvalue())
    return whole
