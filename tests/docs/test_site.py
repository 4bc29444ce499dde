"""The documentation as a site: it builds without a warning, its links lead somewhere, it needs no network."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import dartboard
from helpers.doc_pages import ROOT, load_script

pytest.importorskip("mkdocs", reason="mkdocs is not installed; pip install 'dartboard[docs]'")
LOADED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "video"}
"""Elements that make a browser fetch what they name."""
NAMING = {"a": "href", "link": "href", "object": "data"}
"""Attributes that name something, where it is not `src`."""
HTML = set[tuple[str, str]]
CHROMIUM = Path("/usr/bin/chromium")


class Reader(HTMLParser):
    """What a page names, and what on it can be named.

    Args:
        path: The page.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: HTML = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.anchors |= {own.get("id") or "", own.get("name") or ""}
        address = own.get(NAMING.get(tag, "src"))
        if address is not None:
            self.names.add((tag, address))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as strictly as it can be."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def read(site: Path) -> dict[Path, Reader]:
    """All pages of the site; the one for addresses that are not there is for servers."""
    found = {path: Reader(path) for path in site.rglob("*.html") if path.name != "404.html"}
    made = set(load_script("reference_pages").reference_pages())
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    names = {*written, *(f"reference/{name}" for name in made)}
    assert {path.relative_to(site).with_suffix(".md").as_posix() for path in found} == names
    return found


def test_links_and_anchors_lead_somewhere(read: dict[Path, Reader]) -> None:
    wrong = [f"{path.name}: {address}" for path, page in read.items() for _, address in page.names
             if not _leads_somewhere(path, address, read)]  # fmt: skip
    assert wrong == []


def _leads_somewhere(path: Path, address: str, read: dict[Path, Reader]) -> bool:
    parts = urlsplit(address)
    if parts.scheme:
        return parts.scheme in ("http", "https", "data", "mailto")
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if target not in read or not parts.fragment:
        return target.is_file()
    return unquote(parts.fragment) in read[target].anchors


def test_pages_fetch_nothing_from_the_network(site: Path, read: dict[Path, Reader]) -> None:
    fetched = {name for page in read.values() for tag, name in page.names if tag in LOADED}
    assert fetched
    assert [name for name in fetched if urlsplit(name).netloc] == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert [url for text in styles for url in re.findall(r"url\(['\"]?(?:https?:)?//[^)]+", text)] == []


def test_formulas_are_mathml(site: Path, read: dict[Path, Reader]) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in read}
    assert "<math" in texts[site / "training.html"]
    assert [path.name for path, text in texts.items() if "arithmatex" in text] == []
    commands = {path.name: re.findall(r"<m[ion]>\\\w+", text) for path, text in texts.items()}
    assert {name: found for name, found in commands.items() if found} == {}


def test_every_package_has_a_page(site: Path) -> None:
    pages = {path.stem for path in (site / "reference").glob("*.html")}
    assert pages >= {
        "analyse", "arch", "bench", "dartboard", "data", "export", "jobs", "nn", "oracle", "pictures",
        "relax", "report", "runs", "search", "space", "train",
    }  # fmt: skip
    assert 'id="dartboard.space.SearchSpace"' in (site / "reference" / "space.html").read_text()
    assert 'id="dartboard.space.SearchSpace.resized"' in (site / "reference" / "space.html").read_text()


def test_every_public_name_is_documented(site: Path) -> None:
    text = (site / "reference" / "dartboard.html").read_text(encoding="utf-8")
    assert [name for name in dartboard.__all__ if f'id="dartboard.{name}"' not in text] == []


def test_the_navigation_has_every_page(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8").partition("md-nav--primary")[2]
    linked = set(re.findall(r'<a href="([^"]+\.html)" class="md-nav__link', text))
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html") if path.name != "404.html"}
    assert linked | {"index.html"} == pages


PATIENCE = 120_000
"""Milliseconds; machines that test are busy."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.is_file():
        pytest.skip(f"there is no {CHROMIUM}; apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--headless", "--disable-gpu"], timeout=PATIENCE
        )
        yield launched
        launched.close()


@pytest.mark.parametrize("page", ["index.html", "reference/settings/search.html"])
def test_search_works_from_the_disk_without_a_network(browser: Any, site: Path, page: str) -> None:
    wrong: list[str] = []
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("request", lambda request: wrong.append(request.url) if _is_remote(request.url) else None)
    tab.goto((site / page).as_uri())
    tab.locator(".md-search__input").click()
    tab.keyboard.type("weights.lr_end")
    result = tab.locator(".md-search-result__link").first
    result.wait_for()
    assert result.get_attribute("href").startswith((site / "reference/settings/search.html").as_uri())
    result.click()
    tab.wait_for_url("**/reference/settings/search.html*")
    assert tab.locator("h1").inner_text().startswith("Settings of a search")
    assert wrong == []
    context.close()


def _is_remote(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:", "about:"))


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_landing_page_fits_its_window(browser: Any, site: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    tab = context.new_page()
    tab.goto((site / "index.html").as_uri())
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    doors = [door.bounding_box() for door in tab.locator(".door").all()]
    assert len(doors) == 3
    assert len({box["y"] for box in doors}) == (3 if width == 390 else 1)
    assert tab.evaluate("document.querySelector('.hero').naturalWidth") > 0
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    context.close()
