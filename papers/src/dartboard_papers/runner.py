"""Runs a reproduction: from its name to the files that it writes."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

from dartboard.config.loader import ConfigLoader, from_words
from dartboard.errors import OptionError, RunError
from dartboard.runs import Lock
from dartboard.utils.atomic import write_text
from dartboard.utils.safe_files import read_file
from dartboard_papers.base import REPRODUCTIONS, Reproduction, RunOptions, Scale
from dartboard_papers.formatting import format_setting
from dartboard_papers.record import ReproductionRecord, write_record

CLOCK = "seconds.json"
"""File of the seconds that a reproduction has taken so far."""
WORK = "work"
"""Folder of intermediate results, from which a reproduction resumes."""


@dataclass
class Clock:
    """Elapsed time in seconds."""

    seconds: float


@contextmanager
def timed(folder: Path) -> Iterator[Clock]:
    """Measures the time of a block, added to that of earlier blocks with the same folder.

    Inside, the clock shows the earlier time; afterwards, the total. A block that raises counts as well; one
    that is killed does not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        before = json.loads(read_file(folder / CLOCK, root=folder))
    except (OSError, ValueError, RunError):
        before = 0.0
    if not (isinstance(before, float) and math.isfinite(before) and before > 0):  # damaged
        before = 0.0
    clock, began = Clock(before), monotonic()
    try:
        yield clock
    finally:
        clock.seconds = before + monotonic() - began
        write_text(folder / CLOCK, json.dumps(clock.seconds))


def choose_scale(reproduction: Reproduction[Any], words: Sequence[str] = (), *, full: bool = False) -> Scale:
    """The scale that a reproduction is run at.

    Args:
        reproduction: The reproduction.
        words: Settings that differ, such as `epochs=5`.
        full: Start from the paper's scale instead of the laptop's.

    Raises:
        UnknownNameError: If it has no such setting.
        OptionError: If a value cannot be used.
    """
    base: Scale = reproduction.full if full and reproduction.full is not None else reproduction.laptop
    for word in words:
        if "=" not in word:
            defaults = reproduction.laptop.model_dump(mode="json")
            expected = f"{reproduction.name} has no numbers to set"
            if defaults:
                expected = f"expected a setting such as {format_setting(*next(iter(defaults.items())))}"
            raise OptionError(f"{expected}, got {word!r}")
    form = ConfigLoader(type(base), {}, "")
    return form.merge([base.model_dump(), from_words(words)])


def check_options(reproduction: Reproduction[Any], scale: Scale, options: RunOptions) -> None:
    """Refuses data or a table that a reproduction does not use, and options that it cannot run with."""
    inputs = {"data": options.data, "table": options.table}
    for key, value in inputs.items():
        if value is not None and key not in reproduction.takes:
            raise OptionError(f"{reproduction.name} takes no --{key}; leave it out")
    reproduction.check(options, scale)


def work_folder(folder: Path, scale: Scale, options: RunOptions) -> Path:
    """Folder of the intermediate results: one for each scale, data set, table and type of device.

    Args:
        folder: Folder of the reproduction.
        scale: Scale that it is run at.
        options: Options that it is run with.
    """
    inputs = [  # data sets by their names, files and folders by their full paths
        None if path is None else str(Path(path).resolve() if Path(path).exists() else path)
        for path in (options.data, options.table)
    ]
    key = json.dumps([scale.model_dump(mode="json"), *inputs, options.device.type])
    return folder / WORK / sha256(key.encode()).hexdigest()[:8]


def reproduce(name: str, scale: Scale, options: RunOptions, folder: Path) -> ReproductionRecord:
    """Runs a reproduction and writes its files to a folder; called again, it resumes.

    Args:
        name: Name of the reproduction.
        scale: Scale that it is run at.
        options: Options that it is run with; their folder is replaced by one below `folder`.
        folder: Where record, page and pictures are written.

    Raises:
        RunError: If another process runs the same reproduction there.
        DartboardError: If there is no such reproduction, or it cannot be run.
    """
    reproduction = REPRODUCTIONS[name]
    checked = replace(options, full=options.full or scale == reproduction.full)
    check_options(reproduction, scale, checked)
    inner = replace(checked, folder=work_folder(folder, scale, options))
    inner.folder.mkdir(parents=True, exist_ok=True)
    with Lock(inner.folder), timed(inner.folder) as clock:
        result = reproduction.work(inner, scale)
    return write_record(reproduction, scale, options, result, clock.seconds, folder)
