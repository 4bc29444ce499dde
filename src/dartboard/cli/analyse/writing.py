"""What the tools write: pictures, and the numbers behind them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_all(folder: Path, figures: "Mapping[str, Figure]", name: str, numbers: Mapping[str, Any]) -> None:
    """Writes pictures as SVG and PNG, and numbers as JSON, to a folder that is made if need be.

    Args:
        folder: Where.
        figures: By name, without endings.
        name: Of the file with the numbers.
        numbers: Ready for JSON.
    """
    from dartboard.atomic import write_text
    from dartboard.pictures.saving import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    for own, figure in figures.items():
        save_figure(figure, folder / own)
    write_text(folder / name, json.dumps(numbers, indent=1) + "\n")
