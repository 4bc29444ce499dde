"""Pages are short, and every command on them is one that the program takes."""

import re
import shlex
from collections.abc import Iterator

import pytest

from dartboard.cli import commands
from dartboard.cli.commands import COMMANDS, package_commands
from dartboard.errors import DartboardError
from helpers.doc_pages import FENCE, blocks_of, pages, read_page

LONGEST = 2500
"""Words of a page that is read. Reference, where one looks things up, is not counted."""
INLINE = re.compile(r"`(dartboard [^`]+)`")


READ = [page for page in pages() if page.startswith("docs/") and not page.startswith("docs/reference/")]


@pytest.mark.parametrize("page", READ)
def test_a_page_is_read_in_one_go(page: str) -> None:
    words = len(read_page(page).split())
    assert words <= LONGEST, (
        f"{page} has {words:,} words; split it, or put long tables on a page of their own"
    )


def block_commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of the blocks of a page, each with its place."""
    for block in blocks_of(page):
        lines = block.text.replace("\\\n", " ").splitlines()
        if block.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        for line in lines if block.language in ("sh", "console") else ():
            words = shlex.split(line, comments=True)
            if "dartboard" in words and not any("$" in word for word in words):
                yield block.place, words[words.index("dartboard") + 1 :]


def inline_commands(page: str) -> Iterator[tuple[str, list[str]]]:
    """The commands in the sentences of a page; what is optional is taken as given, and N for a number."""
    for text in INLINE.findall(FENCE.sub("", read_page(page))):
        yield page, shlex.split(re.sub(r"[\[\]]|(?<== )N", "", text).replace(" N", " 1"))[1:]


@pytest.mark.parametrize("page", [page for page in pages() if "dartboard " in read_page(page)])
def test_every_command_is_one_that_the_program_takes(page: str) -> None:
    wrong = []
    named = {*COMMANDS, *package_commands("", COMMANDS)}
    for place, words in [*block_commands(page), *inline_commands(page)]:
        if len(words) == 1 and words[0] in named:  # a command that a sentence is about
            continue
        try:
            commands.parse(words)
        except DartboardError as error:
            wrong.append(f"{place}: dartboard {shlex.join(words)}: {error}")
        except SystemExit:  # --help; mistakes are errors of the program
            continue
    assert wrong == []


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    assert [words[0] for _, words in block_commands("docs/several-devices.md")].count("search") > 1
    assert ["runs", "tail", "RUN", "-n", "1", "--follow"] in [
        words for _, words in inline_commands("docs/runs.md")
    ]
