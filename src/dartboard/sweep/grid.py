"""The grid of a sweep: the points of a stage, each with its settings, and the names of their runs."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from dartboard.config.loader import CHOICES
from dartboard.config.schema import NAMED
from dartboard.errors import OptionError
from dartboard.utils.yaml_text import format_value

RANGE = re.compile(r"(\d{1,18})\.\.(\d{1,18})")
UNSAFE = re.compile(r"[^A-Za-z0-9.+_-]+")
"""Characters that are replaced in names of directories."""
MAX_NAME = 80
"""Longest name of a run."""
MAX_RUNS = 100_000
"""Largest number of runs of a stage: all are planned before the first one starts, which takes half a gigabyte
of memory for this number, and each gets a directory."""
CELL = "cell"
"""What trainings vary besides their settings: the label of their cell."""
FIRST = (CELL, *(f"{group}.name" for group in NAMED))
"""Settings that names begin with, by their values alone."""
CHOSEN = tuple(f"{group}.name" for group in CHOICES)
"""Settings that say what the other options of their groups belong to."""

PLACEHOLDER = "any-"
"""Prefix of the labels of cells that stand for ones that are not found yet."""

Point = dict[str, Any]
"""Settings of a point of the grid by dotted name."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a sweep.

    Args:
        stage: The stage that it belongs to.
        name: Its directory inside the sweep's.
        kind: `search` or `train`.
        config: Its whole configuration, as plain values.
        varied: The settings in which it differs from others of its stage, by dotted name, without its seed.
        test: Whether test images may be measured on.
    """

    stage: str
    name: str
    kind: str
    config: dict[str, Any]
    varied: Point
    test: bool = True

    @property
    def is_placeholder(self) -> bool:
        """True if its cell stands for one that is not found yet."""
        return str(self.varied.get(CELL, "")).startswith(PLACEHOLDER)


def flattened(values: Mapping[str, Any], *, keep_groups: bool = False) -> dict[str, Any]:
    """Settings by dotted name; a name alone will do for space, method and data.

    With `keep_groups` groups in a list of values stay groups, as in a grid.

    Raises:
        OptionError: If a setting appears twice, or a group is empty.
    """
    joined: dict[str, Any] = {}
    for key, value in values.items():
        has_groups = isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value)
        if keep_groups and has_groups and key in NAMED:
            part = {key: value}
        elif not isinstance(value, Mapping):
            part = {f"{key}.name" if key in NAMED else str(key): value}
        elif value:
            part = {f"{key}.{name}": inner for name, inner in flattened(value).items()}
        else:
            raise OptionError(f"{key}={{}}: expected a value, or a group with something in it")
        if twice := [name for name in part if name in joined]:
            raise OptionError(f"{twice[0]} is said twice; leave out one of them")
        joined |= part
    return joined


def _refuse_cell(values: dict[str, Any]) -> dict[str, Any]:
    if CELL in values:
        raise OptionError(f"{CELL} is none of the settings; say what is trained with cells: [darts-v2]")
    return values


def parse_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of runs by dotted name.

    Raises:
        OptionError: If there is a range or a cell among them; else as `flattened`.
    """
    settings = _refuse_cell(flattened(values))
    for name, value in settings.items():
        if _match_range(value):
            raise OptionError(f"{name}={value}: a range is several values; say them in the grid")
    return settings


def parse_grid(grid: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values of each setting of a grid by dotted name; raises as `parse_settings` and `parse_values`."""
    values = _refuse_cell(flattened(grid, keep_groups=True))
    return {key: parse_values(key, value) for key, value in values.items()}


def parse_values(name: str, value: object) -> tuple[Any, ...]:
    """The values of a setting of a grid: those of a list, and of ranges such as `0..4`.

    Raises:
        OptionError: If there are none or too many, or one appears twice.
    """
    values: list[Any] = []
    for item in value if isinstance(value, list | tuple) else (value,):
        match = _match_range(item)
        if match is None:
            values.append(item)
            continue
        first, last = int(match[1]), int(match[2])
        if first > last:
            rule = "a range such as 0..4 goes from the smaller number to the larger"
            raise OptionError(f"grid.{name}={item}: {rule}")
        check_count(f"grid.{name}={item}", last - first + 1, "values")
        values += range(first, last + 1)
    if not values or {} in values or value is None:
        raise OptionError(f"grid.{name}={format_value(value)}: expected values such as [1, 2] or 0..4")
    seen: set[str] = set()
    for text in map(format_value, values):
        if text in seen:
            short = name.removesuffix(".name")
            raise OptionError(f"grid.{short}: {text} stands there twice; leave out one of them")
        seen.add(text)
    return tuple(values)


def _match_range(value: object) -> re.Match[str] | None:
    return RANGE.fullmatch(value.strip()) if isinstance(value, str) else None


def regridded(grid: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """A grid in which some settings have other values, whether given by name or with their options."""
    old, new = flattened(grid, keep_groups=True), flattened(update, keep_groups=True)
    replaced = {key.removesuffix(".name") for key in new}
    return {key: value for key, value in old.items() if key.removesuffix(".name") not in replaced} | new


def overlaid(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of several layers by dotted name, of which later ones win.

    Options that belong to another space or method than the last one named are left out; those that come
    before any name belong to every one.
    """
    last = {key: value for layer in layers for key, value in layer.items()}
    merged: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for layer in layers:
        named |= {key: layer[key] for key in CHOSEN if key in layer}
        replaced = {key.partition(".")[0] for key, value in named.items() if value != last[key]}
        merged |= {key: value for key, value in layer.items() if key.partition(".")[0] not in replaced}
    return merged


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted name in their groups."""
    layer: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = name.split(".")
        inner = layer
        for group in groups:
            inner = inner.setdefault(group, {})
            if not isinstance(inner, dict):
                raise OptionError(f"{name}: {group} is a value and a group at once; leave out one of them")
        inner[last] = value
    return layer


def check_count(place: str, count: int, what: str = "runs") -> None:
    """Refuses more runs, or values for them, than a stage can have.

    Raises:
        OptionError: Begins with the place, and says how many there are.
    """
    if count > MAX_RUNS:
        raise OptionError(f"{place}: {count:,} {what} are too many; at most {MAX_RUNS:,}")


def count_points(grid: Mapping[str, Sequence[Any]], rows: Sequence[Mapping[str, Any]]) -> int:
    """Number of `points`, without making them."""
    return math.prod(map(len, grid.values())) * max(len(rows), 1)


def points(grid: Mapping[str, Sequence[Any]], rows: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    """Every combination of the grid, with each row.

    Raises:
        OptionError: If a row and the grid have the same setting, or the grid has one twice.
    """
    for row, combination in product(rows or ({},), product(*grid.values())):
        settings = flattened(dict(zip(grid, combination, strict=True)))
        if both := [key for key in row if key in settings]:
            raise OptionError(f"{both[0]} is in the grid and in a row of runs; leave it out of one of them")
        yield {**row, **settings}


def run_name(varied: Mapping[str, Any], seed: int, known: Collection[str]) -> str:
    """Name of a run among those of its stage, such as `darts-lr0.1-s0`.

    It depends on the settings of the run alone, not on their order, so that runs can be added later.

    Args:
        varied: The settings that vary, by dotted name, without the seed.
        seed: Random seed of the run.
        known: All settings of this kind of run, by dotted name.
    """
    parts = [_value_text(varied[name]) for name in FIRST if name in varied]
    for name in sorted(varied):
        if name in FIRST:
            continue
        last = name.rpartition(".")[2]  # enough unless others end with it; methods have any options
        ambiguous = any(key.rpartition(".")[2] == last and key != name for key in known)
        label = name if ambiguous or name.startswith("method.") else last
        parts.append(f"{label}{_value_text(varied[name])}")
    full = "-".join([*parts, f"s{seed}"])
    if len(full) <= MAX_NAME:
        return full
    digest = sha256(full.encode()).hexdigest()[:8]
    return f"{'-'.join(parts)[: MAX_NAME - 20]}-{digest}-s{seed}"


def _value_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_value_text, value)) or "nothing"
    if isinstance(value, str) and "/" in value:
        value = Path(value).stem
    text = str(value).lower() if isinstance(value, bool) or value is None else str(value)
    return UNSAFE.sub("_", text)
