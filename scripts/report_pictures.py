"""Regenerate the screenshots of docs/reading-a-report.md: parts of the report of a search and its training.

    python scripts/report_pictures.py

Searches and trains for half a minute on the bundled digits, in a temporary folder.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from readme_pictures import CHROMIUM, ROOT, compress, dartboard

FIGURES = ROOT / "docs" / "figures" / "report"
PARTS = {"headline": "header", "cell": "#cell", "curves": "#curves", "strengths": "#strengths"}
"""CSS selector of the part of the page, by picture."""
TIMEOUT = 120_000
"""Milliseconds to wait for the charts."""
SIZE = {"width": 1000, "height": 900}


def screenshots(page: Path, folder: Path) -> None:
    """Take screenshots of the parts of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--headless"])
        tab = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        tab.goto(page.as_uri())
        tab.locator("#curves").scroll_into_view_if_needed()  # charts are drawn when they come into view
        tab.wait_for_selector("#curves .main-svg", timeout=TIMEOUT)
        for name, part in PARTS.items():
            tab.locator(part).first.screenshot(path=folder / f"{name}.png")
        browser.close()


def make() -> None:
    """Search, train, write the report and take screenshots of its parts."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        dartboard("search --recipe quick --threads 1 --quiet --out", run)
        dartboard("train --recipe quick --threads 1 --quiet --no-report --out", f"{run}-trained", run)
        dartboard("report", run, f"{run}-trained", "--out", run / "report.html")
        screenshots(run / "report.html", Path(name))
        for part in PARTS:
            picture = Path(name) / f"{part}.png"
            compress(picture)
            (FIGURES / picture.name).write_bytes(picture.read_bytes())
            print(f"written {(FIGURES / picture.name).relative_to(ROOT)}")


if __name__ == "__main__":
    make()
