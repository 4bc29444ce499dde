"""Regenerate the pictures at the top of the README and of the site: a report, and a published cell.

    python scripts/readme_pictures.py

Searches for half a minute on the bundled digits, in a temporary folder. The screenshot is taken with
Debian's chromium through playwright, at twice the resolution, in the light color scheme.
"""

import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from dartboard.cli.main import main

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures" / "readme"
CHROMIUM = "/usr/bin/chromium"
SEARCH = "search --recipe quick --threads 1 --quiet --out"
"""The search of `dartboard demo`."""
SIZE = {"width": 1040, "height": 925}
"""Viewport of the screenshot: the headline and the first cell."""
LABEL, NORMAL = 30, 0.5
"""Where the normal cell is in the drawing of both: below its name in pixels, and down to this fraction."""
COLORS = 64
LARGEST = 150_000
"""Maximum size of a picture in bytes."""


def dartboard(command: str, *arguments: str | Path) -> None:
    """Run a command without output; exit if it fails."""
    with redirect_stdout(io.StringIO()):
        if main([*command.split(), *map(str, arguments)]) != 0:
            raise SystemExit(1)


def screenshot(page: Path, out: Path) -> None:
    """Take a screenshot of the top of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        context = browser.new_context(viewport=SIZE, device_scale_factor=2, color_scheme="light")
        tab = context.new_page()
        tab.goto(page.as_uri())
        tab.wait_for_selector("svg path")
        tab.screenshot(path=out)
        browser.close()


def compress(path: Path) -> None:
    """Reduce a picture to a small palette; exit if it is still too large."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    if path.stat().st_size > LARGEST:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST:,}")


def make() -> None:
    """Search, take a screenshot of the report, and draw the published cell."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = folder / "run"
        dartboard(SEARCH, run)
        dartboard("info", "darts-v2", "--out", folder / "cell.png")
        with Image.open(folder / "cell.png") as picture:
            picture.crop((0, LABEL, picture.width, int(NORMAL * picture.height))).save(folder / "normal.png")
        screenshot(run / "report.html", folder / "report.png")
        for name in ("cell.png", "normal.png", "report.png"):
            compress(folder / name)
            (FIGURES / name).write_bytes((folder / name).read_bytes())
            print(f"written {(FIGURES / name).relative_to(ROOT)}")


if __name__ == "__main__":
    make()
