"""The pages of the documentation, the blocks of code in them, and the scripts that make them."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<margin> *)```(?P<language>[^\s`]*)[^\n]*\n(?P<text>.*?)^(?P=margin)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A block of code.

    Args:
        page: The page it is on, from the root of the repository.
        line: The number of its first line there.
        language: What it is written in.
        text: What it says.
    """

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        """Where it is, as editors understand it."""
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name of the file that the block is, if its first line has one: `# name.py`."""
        found = re.match(r"# ([\w-]+\.\w+)\n", self.text)
        return found and found[1]


def pages() -> list[str]:
    """All pages, the README first."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return ["README.md", *(page.relative_to(ROOT).as_posix() for page in found)]


def read_page(page: str) -> str:
    """The text of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page, in its order."""
    text = read_page(page)
    return [
        Block(page, text.count("\n", 0, found.start("text")) + 1, found["language"], _without_margin(found))
        for found in FENCE.finditer(text)
    ]


def _without_margin(found: re.Match[str]) -> str:
    margin = len(found["margin"])
    return "".join(line[margin:] if line.strip() else "\n" for line in found["text"].splitlines(True))


def load_script(name: str) -> ModuleType:
    """A script of the repository, loaded as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
