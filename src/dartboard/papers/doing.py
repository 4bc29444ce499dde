"""Does a reproduction from its name to its files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dartboard.errors import OptionError
from dartboard.papers.base import REPRODUCTIONS, Reproduction, Scale, Setting
from dartboard.papers.clock import clocked
from dartboard.papers.record import Record, keep
from dartboard.search.form import Form, from_words

WORK = "work"
"""The folder of what is kept while a reproduction is done."""


def choose_scale(told: Reproduction[Any], words: Sequence[str] = (), *, full: bool = False) -> Scale:
    """How large a reproduction shall be.

    Args:
        told: Which one.
        words: Numbers that differ, such as `epochs=5`.
        full: Begin with the paper's numbers, not with a laptop's.

    Raises:
        UnknownNameError: If it has no such number.
        OptionError: If a value cannot be used.
    """
    base: Scale = told.full if full and told.full is not None else told.laptop
    form = Form(type(base), {}, "")
    return form.merge([base.model_dump(), from_words(words)])


def check_given(told: Reproduction[Any], setting: Setting) -> None:
    """Refuses images or a table that a reproduction would not look at."""
    given = {"data": setting.data, "table": setting.table}
    for key, value in given.items():
        if value is not None and key not in told.takes:
            raise OptionError(f"{told.name} takes no --{key}; leave it out")


def reproduce(name: str, scale: Scale, setting: Setting, folder: Path) -> Record:
    """Does a reproduction and writes what came of it to a folder; the same again goes on where it was.

    Raises:
        DartboardError: If there is no such reproduction, or it cannot be done.
    """
    told = REPRODUCTIONS[name]
    check_given(told, setting)
    with clocked(setting.folder) as clock:
        finding = told.work(setting, scale)
    return keep(told, scale, setting, finding, clock.seconds, folder)
