"""What the tools write: figures, and the numbers behind them."""

import json
import math
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def as_json(numbers: Mapping[str, Any], indent: int | None = None) -> str:
    """The numbers in JSON, which has none that are infinite or no numbers: those are null."""
    return json.dumps(_finite(numbers), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value


def write_all(folder: Path, figures: "Mapping[str, Figure]", name: str, numbers: Mapping[str, Any]) -> None:
    """Writes pictures as SVG and PNG, and numbers as JSON, to a folder that is made if need be.

    Args:
        folder: Where.
        figures: By name, without endings.
        name: Of the file with the numbers.
        numbers: Ready for JSON, but for what is not finite.
    """
    from dartboard.utils.atomic import write_text
    from dartboard.viz.figures import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    for stem, figure in figures.items():
        save_figure(figure, folder / stem)
    write_text(folder / name, as_json(numbers, indent=1) + "\n")


def add_supernet_flags(parser: ArgumentParser) -> None:
    """Declare what the tools share that bring a supernet back: where they write, and how they read."""
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--fall-back", action="store_true", help="take an older checkpoint if the last is damaged")
    add("--json", action="store_true", help="print one JSON object instead")
