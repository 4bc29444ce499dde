"""The documentation as a site: it builds without a warning, its links lead somewhere, it needs no network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from helpers.doc_pages import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed; pip install 'dartboard[docs]'")
LOADED = {"audio", "embed", "iframe", "img", "link", "object", "script", "source", "video"}
"""Elements that make a browser fetch what they name."""
NAMING = {"a": "href", "link": "href", "object": "data"}
"""Attributes that name something, where it is not `src`."""
HTML = set[tuple[str, str]]


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
    assert len(found) == len(list((ROOT / "docs").rglob("*.md")))
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
    pages = {path.stem for path in (site / "reference").glob("*.html")} - {"index", "json", "scripting"}
    assert pages == {
        "analyse", "arch", "bench", "data", "export", "jobs", "nn", "oracle", "pictures", "relax", "report",
        "runs", "search", "space", "train",
    }  # fmt: skip
    assert 'id="dartboard.space.SearchSpace"' in (site / "reference" / "space.html").read_text()
    assert 'id="dartboard.space.SearchSpace.resized"' in (site / "reference" / "space.html").read_text()
