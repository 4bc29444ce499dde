"""A page of the documentation acted out: its files written, its code run, its commands given."""

import io
import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from time import process_time
from typing import Any

from dartboard.cli.commands import GROUP as COMMANDS
from dartboard.cli.main import main
from dartboard.data import DATASETS
from dartboard.nn import OPS
from dartboard.search import METHODS
from dartboard.space import SPACES, decode
from helpers.doc_pages import Block, blocks_of
from helpers.page_commands import Words, read_yaml, run_command
from helpers.page_settings import BEFORE

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
JOINED = ("|", ">", "&&", "&", ";")
"""What joins commands of a shell, and is not rehearsed."""


def run_page(page: str, folder: Path, log: Path) -> None:
    """Act a page out in a folder; the process is its own, for code on a page may register what it likes.

    Args:
        page: The page, from the root of the repository.
        folder: Where its commands are given.
        log: The file to which goes what is printed.
    """
    _redirect(log)
    os.chdir(folder)
    places = {"DARTBOARD_DATASETS": str(folder / "datasets"), "XDG_CACHE_HOME": str(folder / ".cache")}
    os.environ.update(COLUMNS="80", **places)
    stage, begun = PageSession(), process_time()
    for line in BEFORE.get(page, ()):
        stage.command(line)
    for block in blocks_of(page):
        _note(f"=== {block.place} after {process_time() - begun:.1f} s")
        BLOCK_RUNNERS[block.language](stage, block)
    _note(f"=== done after {process_time() - begun:.1f} s of the processor")


def _redirect(log: Path) -> None:
    with log.open("w") as written:
        os.dup2(written.fileno(), 1)
        os.dup2(written.fileno(), 2)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(encoding="utf-8", line_buffering=True)


def _note(words: str) -> None:
    sys.stdout.write(f"{words}\n")


class PageSession:
    """What the blocks of a page share: names of Python, and variables of the shell."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.variables: dict[str, str] = {}

    def python(self, block: Block) -> None:
        """Run code, or write the file that it is."""
        if block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
            return
        code = compile("\n" * (block.line - 1) + block.text, block.page, "exec")
        exec(code, self.names)  # noqa: S102

    def sh(self, block: Block) -> None:
        """Give the commands, made small."""
        for line in block.text.replace("\\\n", " ").splitlines():
            self.command(line)

    def console(self, block: Block) -> None:
        """Give the commands as they are, and compare what they print."""
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            printed = io.StringIO()
            with redirect_stdout(printed), redirect_stderr(printed):
                main(self.words(command)[1:])
            if not re.fullmatch(as_pattern(shown), printed.getvalue()):
                raise AssertionError(f"{command}\nprints\n{printed.getvalue()}\nand the page has\n{shown}")

    def yaml(self, block: Block) -> None:
        """Write the file that it is, and have it read by what reads such files."""
        path = Path(block.file or f"line-{block.line}.yaml")
        path.write_text(block.text, encoding="utf-8")
        read_yaml(path)

    def json(self, block: Block) -> None:
        """Read a genotype, or an object that some verb prints."""
        if "cells" in json.loads(block.text):
            decode(block.text)

    def toml(self, block: Block) -> None:
        """Read entry points; their groups must be ones that dartboard looks into."""
        for group in tomllib.loads(block.text)["project"]["entry-points"]:
            assert group in {registry.group for registry in (METHODS, SPACES, OPS, DATASETS)} | {COMMANDS}

    def text(self, block: Block) -> None:
        """Nothing is done with what is only to be looked at."""

    def command(self, line: str) -> None:
        """Give one command of a shell, or remember a variable."""
        words = self.words(line)
        if not words:
            return
        _note(f"$ {shlex.join(words)}")
        given = [word for word in words if ASSIGNMENT.match(word)]
        if len(given) == len(words):
            self.variables |= dict(word.split("=", 1) for word in given)
        else:
            run_command(words)

    def words(self, line: str) -> Words:
        """A line as a shell splits it, without the comment."""
        filled = re.sub(r"\$(\w+)", lambda found: self.variables.get(found[1], found[0]), line)
        found = shlex.split(filled, comments=True)
        if wrong := [word for word in found if word in JOINED]:
            raise AssertionError(f"{line!r}: one command a line, without {wrong[0]!r}")
        return [own for word in found for own in _matching(word)]


def _matching(word: str) -> list[str]:
    """The files that a pattern of a shell matches, or the word itself."""
    found = sorted(map(str, Path().glob(word))) if "*" in word else []
    return found or [word]


def as_pattern(shown: str) -> str:
    """The pattern of an output in which `...` stands for anything: for whole lines where it is one."""
    whole = re.escape(shown).replace("\\\n", "\n")
    return re.sub(r"(?m)^\\\.\\\.\\\.\n", r"(?:.*\\n)*", whole).replace(r"\.\.\.", ".*")


BLOCK_RUNNERS: dict[str, Callable[[PageSession, Block], None]] = {
    name: getattr(PageSession, name) for name in ("python", "sh", "console", "yaml", "json", "toml", "text")
}
"""What is done with the blocks of each language."""
