"""Hooks of the mkdocs site: pages made from the program, formulas, links to the repository, navigation.

mkdocs.yml names this file; `make docs` builds the site.
"""

import html
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LINK = re.compile(r"(?<=\]\()(?P<target>\.\./[^)#\s]+)")
"""A Markdown link to a parent folder, possibly outside of the documentation."""
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
"""A formula in the output of the arithmatex extension: LaTeX between \\( \\) or \\[ \\]."""
COPIES = "repository"
"""Folder of the site with copies of linked files from outside of the documentation."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Expand folders in the navigation to their pages."""
    pages = {page.relative_to(config.docs_dir).as_posix() for page in Path(config.docs_dir).rglob("*.md")}
    pages |= set(_made())
    named = set(_named(config.nav))
    folders = {name for name in named if name.endswith("/")}
    by_folder: dict[str, list[str]] = {folder: [] for folder in folders}
    for page in pages - named:
        if around := [folder for folder in folders if page.startswith(folder)]:
            by_folder[max(around, key=len)].append(page)
    config.nav = _expanded(config.nav, by_folder)
    return config


@cache
def _made() -> dict[str, str]:
    """Pages of the reference that are made from the program, by path below docs."""
    sys.path.insert(0, str(Path(__file__).parent))
    from reference_pages import reference_pages

    return {f"reference/{name}": text for name, text in reference_pages().items()}


def _named(nav: Any) -> Iterator[str]:
    """The pages and folders that the navigation names."""
    if isinstance(nav, str):
        yield nav
    for entry in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _named(entry)


def _expanded(nav: Any, by_folder: Mapping[str, Collection[str]]) -> Any:
    """The navigation with the pages of a folder in its place; `by_folder` has those not named elsewhere."""
    if isinstance(nav, list):
        entries = [(entry, _expanded(entry, by_folder)) for entry in nav]
        return [page for entry, inner in entries for page in (inner if isinstance(entry, str) else [inner])]
    if isinstance(nav, dict):
        return {
            title: entry if _is_page(entry) else _expanded(entry, by_folder) for title, entry in nav.items()
        }
    return _pages(nav, by_folder[nav]) if nav.endswith("/") else [nav]


def _is_page(entry: Any) -> bool:
    return isinstance(entry, str) and not entry.endswith("/")


def _pages(folder: str, pages: Collection[str]) -> list[Any]:
    """The pages of a folder in alphabetical order, its index first, then the folders in it."""
    inside = sorted(page.removeprefix(folder) for page in pages if page.startswith(folder))
    if not inside:
        raise PluginError(f"mkdocs.yml: there are no pages in {folder}")
    files = sorted((name for name in inside if "/" not in name), key=lambda name: (name != "index.md", name))
    folders = dict.fromkeys(name.split("/")[0] for name in inside if "/" in name)
    return [
        *(f"{folder}{name}" for name in files),
        *({name: _pages(f"{folder}{name}/", pages)} for name in folders),
    ]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made from the program, and the files of the repository that pages link to."""
    for name, text in _made().items():
        files.append(File.generated(config, name, content=text))
    names = {name for file in files.documentation_pages() for name in _outside_links(file, config)}
    for name in sorted(names):
        files.append(
            File.generated(config, f"{COPIES}/{name}", abs_src_path=str(_root(config).joinpath(name)))
        )
    return files


def _outside_links(file: File, config: MkDocsConfig) -> Iterator[str]:
    for match in LINK.finditer(file.content_string):
        name = _name(match["target"], file, config)
        if name is not None:
            yield name


def _name(target: str, file: File, config: MkDocsConfig) -> str | None:
    """The path of a link target in the repository, or None if it is inside the documentation.

    Raises:
        PluginError: If the target is not a file.
    """
    root, docs = _root(config), Path(config.docs_dir).resolve()
    path = Path(os.path.normpath(docs / Path(file.src_uri).parent / target))
    if path.is_relative_to(docs):
        return None
    if not path.is_relative_to(root) or not path.is_file():
        raise PluginError(f"{file.src_uri}: {target!r} is not a file of the repository; link to a file")
    return path.relative_to(root).as_posix()


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).resolve().parent


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirect links to files outside of the documentation to their copies."""
    del files

    def redirect(match: re.Match[str]) -> str:
        name = _name(match["target"], page.file, config)
        above = "../" * (len(PurePosixPath(page.file.src_uri).parts) - 1)
        return match["target"] if name is None else f"{above}{COPIES}/{name}"

    return LINK.sub(redirect, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert formulas to MathML, which browsers render without scripts."""
    del page, config, files
    return FORMULA.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    display = "block" if match["tag"] == "div" else "inline"
    return convert(html.unescape(match["latex"]).strip(), display=display)
