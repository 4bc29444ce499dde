"""Hooks of the mkdocs site: formulas, links to files of the repository, folders in the navigation.

mkdocs.yml names this file; `make docs` builds the site.
"""

import html
import os
import re
from collections.abc import Iterator
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
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def _expanded(nav: Any, docs: Path) -> Any:
    if isinstance(nav, list):
        return [_expanded(entry, docs) for entry in nav]
    if isinstance(nav, dict):
        return {title: _expanded(entry, docs) for title, entry in nav.items()}
    return _pages(docs / nav, docs) if nav.endswith("/") else nav


def _pages(folder: Path, docs: Path) -> list[str]:
    """The pages of a folder in alphabetical order, its index first."""
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
    if not pages:
        raise PluginError(f"mkdocs.yml: there are no pages in {folder}")
    return [page.relative_to(docs).as_posix() for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files of the repository that pages link to."""
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
