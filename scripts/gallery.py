"""Makes the pictures of docs/analysis-gallery.md anew: runs the commands of the page, in its order.

    python scripts/gallery.py

Some minutes on one core, in a folder that is removed afterwards. A command whose picture another page has
already (`reproduce`) is left out.
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
    "trajectory": "went/trajectory.png",
    "attention": "looks/attention.png",
    "stability": "steady/stability.png",
    "theory": "advice/experts.png",
}
"""By name on the page, what a command writes."""
LARGEST = 150_000
"""Bytes of a picture."""
WIDEST = 1500
"""Pixels of a picture."""


def commands(page: str) -> list[list[str]]:
    """The words of every command on the page but those that redo a paper's figure."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    words = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    return [own for own in words if own[0] != "reproduce"]


def keep(source: Path, name: str) -> None:
    """Puts a picture where the page shows it, with few colours."""
    path = FIGURES / f"{name}.png"
    with Image.open(source) as picture:
        small = picture.convert("RGB")
        small.thumbnail((WIDEST, WIDEST))
        small.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")
    print(f"written {path.relative_to(ROOT)}")


def make() -> None:
    """Run everything, and keep the pictures."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        for words in commands(PAGE.read_text(encoding="utf-8")):
            with redirect_stdout(io.StringIO()):
                if main(words) != 0:
                    raise SystemExit(f"dartboard {shlex.join(words)} failed")
        for own, source in PICTURES.items():
            keep(Path(name) / source, own)
        os.chdir(ROOT)


if __name__ == "__main__":
    make()
