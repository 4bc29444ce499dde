"""Does a reproduction from its name to its files."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from dartboard.config.loader import Form, from_words
from dartboard.errors import OptionError
from dartboard.runs import Lock
from dartboard_papers.base import REPRODUCTIONS, Reproduction, Scale, Setting
from dartboard_papers.clock import clocked
from dartboard_papers.record import Record, keep
from dartboard_papers.words import word

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
    for own in words:
        if "=" not in own:
            raise OptionError(f"{_example(told)}, got {own!r}")
    form = Form(type(base), {}, "")
    return form.merge([base.model_dump(), from_words(words)])


def _example(told: Reproduction[Any]) -> str:
    """What was expected in the place of a word that is no setting."""
    usual = told.laptop.model_dump(mode="json")
    if not usual:
        return f"{told.name} has no numbers to set"
    return f"expected a setting such as {word(*next(iter(usual.items())))}"


def check_given(told: Reproduction[Any], scale: Scale, setting: Setting) -> None:
    """Refuses images or a table that a reproduction would not look at, and what it cannot be done with."""
    given = {"data": setting.data, "table": setting.table}
    for key, value in given.items():
        if value is not None and key not in told.takes:
            raise OptionError(f"{told.name} takes no --{key}; leave it out")
    told.check(setting, scale)


def work_folder(folder: Path, scale: Scale, setting: Setting) -> Path:
    """Where a reproduction keeps what is finished: another folder for other numbers, images or tables.

    Args:
        folder: The reproduction's.
        scale: How large it is.
        setting: What it is given.
    """
    given = [None if own is None else _place(own) for own in (setting.data, setting.table)]
    words = json.dumps([scale.model_dump(mode="json"), *given, setting.device.type])
    return folder / WORK / sha256(words.encode()).hexdigest()[:8]


def _place(given: str | Path) -> str:
    """The full path of what is there, else the name."""
    return str(Path(given).resolve() if Path(given).exists() else given)


def reproduce(name: str, scale: Scale, setting: Setting, folder: Path) -> Record:
    """Does a reproduction and writes what came of it to a folder; the same again goes on where it was.

    Args:
        name: Which one.
        scale: How large it is.
        setting: With what it is done; its folder is chosen here, below `folder`.
        folder: Where record, page and pictures go.

    Raises:
        RunError: If another process is at the same.
        DartboardError: If there is no such reproduction, or it cannot be done.
    """
    told = REPRODUCTIONS[name]
    asked = replace(setting, full=setting.full or scale == told.full)
    check_given(told, scale, asked)
    inner = replace(asked, folder=work_folder(folder, scale, setting))
    inner.folder.mkdir(parents=True, exist_ok=True)
    with Lock(inner.folder), clocked(inner.folder) as clock:
        finding = told.work(inner, scale)
    return keep(told, scale, setting, finding, clock.seconds, folder)
