"""Regenerate the plots of docs/analysis-gallery.md by running the commands of the page, in order.

    python scripts/gallery.py

Takes some minutes on one core, in a temporary folder. `reproduce` commands, whose plots another page has,
are skipped.
"""

import io
import os
import re
import shlex
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from PIL import Image

from dartboard.cli.main import main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "analysis-gallery.md"
FIGURES = ROOT / "docs" / "figures" / "gallery"
PICTURES = {
    "topology": "shape/standing.png",
    "convergence": "learn/curves.png",
    "landscape": "around/loss-flat.png",
    "line": "between/line.png",
    "trajectory": "went/trajectory.png",
    "attention": "looks/attention.png",
    "stability": "steady/stability.png",
    "theory": "advice/experts.png",
}
"""File that a command writes, by the name of the plot on the page."""
LARGEST = 150_000
"""Maximum size of a plot in bytes."""
WIDEST = 1500
"""Maximum width and height of a plot in pixels."""


def commands(page: str) -> list[list[str]]:
    """The arguments of every command on the page except `reproduce`."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    arguments = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    return [args for args in arguments if args[0] != "reproduce"]


def install(source: Path, name: str) -> None:
    """Copy a plot to the figures of the page, with a small palette."""
    path = FIGURES / f"{name}.png"
    with Image.open(source) as picture:
        small = picture.convert("RGB")
        small.thumbnail((WIDEST, WIDEST))
        small.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")
    print(f"written {path.relative_to(ROOT)}")


def make() -> None:
    """Run all commands and copy the plots."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        for args in commands(PAGE.read_text(encoding="utf-8")):
            with redirect_stdout(io.StringIO()):
                if main(args) != 0:
                    raise SystemExit(f"dartboard {shlex.join(args)} failed")
        for plot, source in PICTURES.items():
            install(Path(name) / source, plot)
        os.chdir(ROOT)


if __name__ == "__main__":
    make()
