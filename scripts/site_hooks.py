"""What the site has beside pages: formulas, links to files of the repository, folders in the menu.

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
"""A link in Markdown that leads upwards, and may lead out of the documentation."""
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
"""A formula as the extension arithmatex leaves it: LaTeX between \\( \\) or \\[ \\]."""
COPIES = "repository"
"""The folder of the site with files from outside of the documentation that a page links to."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of a folder in the place of its name in the menu."""
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    return config


def _expanded(nav: Any, docs: Path) -> Any:
    if isinstance(nav, list):
        return [_expanded(own, docs) for own in nav]
    if isinstance(nav, dict):
        return {title: _expanded(own, docs) for title, own in nav.items()}
    return _pages(docs / nav, docs) if nav.endswith("/") else nav


def _pages(folder: Path, docs: Path) -> list[str]:
    """The pages of a folder by their names, its own first."""
    pages = sorted(folder.glob("*.md"), key=lambda page: (page.name != "index.md", page.name))
    if not pages:
        raise PluginError(f"mkdocs.yml: there are no pages in {folder}")
    return [page.relative_to(docs).as_posix() for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take the files of the repository that pages link to into the site."""
    wanted = {name for file in files.documentation_pages() for name in _outside(file, config)}
    for name in sorted(wanted):
        files.append(
            File.generated(config, f"{COPIES}/{name}", abs_src_path=str(_root(config).joinpath(name)))
        )
    return files


def _outside(file: File, config: MkDocsConfig) -> Iterator[str]:
    for found in LINK.finditer(file.content_string):
        name = _name(found["target"], file, config)
        if name is not None:
            yield name


def _name(target: str, file: File, config: MkDocsConfig) -> str | None:
    """What a link names in the repository, or nothing where it stays in the documentation.

    Raises:
        PluginError: If it names a folder, or nothing that is there.
    """
    root, docs = _root(config), Path(config.docs_dir).resolve()
    place = Path(os.path.normpath(docs / Path(file.src_uri).parent / target))
    if place.is_relative_to(docs):
        return None
    if not place.is_relative_to(root) or not place.is_file():
        raise PluginError(f"{file.src_uri}: {target!r} is no file of the repository; link to a file")
    return place.relative_to(root).as_posix()


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).resolve().parent


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave the documentation to the copies of what they name."""
    del files

    def turned(found: re.Match[str]) -> str:
        name = _name(found["target"], page.file, config)
        above = "../" * (len(PurePosixPath(page.file.src_uri).parts) - 1)
        return found["target"] if name is None else f"{above}{COPIES}/{name}"

    return LINK.sub(turned, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, which browsers draw by themselves."""
    del page, config, files
    return FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["tag"] == "div" else "inline"
    return convert(html.unescape(found["latex"]).strip(), display=display)
