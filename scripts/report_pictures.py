"""Makes the pictures of docs/reading-a-report.md anew: parts of the page about a search and its training.

    python scripts/report_pictures.py

Searches and trains for half a minute on the embedded digits, in a folder that is removed afterwards.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from readme_pictures import CHROMIUM, ROOT, compress, dartboard

FIGURES = ROOT / "docs" / "figures" / "report"
PARTS = {"headline": "header", "cell": "#cell", "curves": "#curves", "strengths": "#strengths"}
"""By picture, the part of the page that it shows."""
PATIENCE = 120_000
"""Milliseconds."""
SIZE = {"width": 1000, "height": 900}


def photograph(page: Path, folder: Path) -> None:
    """Parts of a page as pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        tab = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        tab.goto(page.as_uri())
        tab.locator("#curves").scroll_into_view_if_needed()  # charts are drawn when they are near
        tab.wait_for_selector("#curves .main-svg", timeout=PATIENCE)
        for name, part in PARTS.items():
            tab.locator(part).first.screenshot(path=folder / f"{name}.png")
        browser.close()


def make() -> None:
    """Search, train, write the page and photograph its parts."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        dartboard("search --recipe quick --threads 1 --quiet --out", run)
        dartboard("train --recipe quick --threads 1 --quiet --no-report --out", f"{run}-trained", run)
        dartboard("report", run, f"{run}-trained", "--out", run / "report.html")
        photograph(run / "report.html", Path(name))
        for part in PARTS:
            picture = Path(name) / f"{part}.png"
            compress(picture)
            (FIGURES / picture.name).write_bytes(picture.read_bytes())
            print(f"written {(FIGURES / picture.name).relative_to(ROOT)}")


if __name__ == "__main__":
    make()
