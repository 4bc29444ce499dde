"""The points of a sweep: which settings each of its runs has of its own, and what the run is called."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from dartboard.config.loader import CHOICES, NAMED
from dartboard.errors import OptionError
from dartboard.utils.yaml_text import format_value

RANGE = re.compile(r"(\d{1,18})\.\.(\d{1,18})")
ODD = re.compile(r"[^A-Za-z0-9.+_-]+")
"""What names of directories do without."""
LONGEST = 80
"""Characters of a name."""
RUNS = 100_000
"""The most runs of a stage: all are planned before the first one starts, which takes half a gigabyte of
memory for so many, and each gets a directory."""
CELL = "cell"
"""What trainings vary besides their settings: the label of their cell."""
FIRST = (CELL, *(f"{group}.name" for group in NAMED))
"""What names begin with, by its value alone."""

CHOSEN = tuple(f"{group}.name" for group in CHOICES)
"""Names that options belong to."""

Point = dict[str, Any]
"""Settings by dotted name."""


def flattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted name; a name alone will do for space, method and data.

    Raises:
        OptionError: If a setting is said twice, or a group has nothing in it.
    """
    return _gathered(map(_flat, map(str, values), values.values()))


def settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of runs by dotted name.

    Raises:
        OptionError: If there is a range among them, or a cell; besides as `flattened`.
    """
    found = _without_cell(flattened(values))
    for name, own in found.items():
        if _match(own):
            raise OptionError(f"{name}={own}: a range is several values; say them in the grid")
    return found


def _without_cell(found: dict[str, Any]) -> dict[str, Any]:
    if CELL in found:
        raise OptionError(f"{CELL} is none of the settings; say what is trained with cells: [darts-v2]")
    return found


def spread_all(grid: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """By dotted name, the values that each setting of a grid has; raises as `settings` and `spread`."""
    return {key: spread(key, own) for key, own in _without_cell(_flat_grid(grid)).items()}


def regridded(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """A grid with settings that have other values now, whether said by name or with their options."""
    old, new = _flat_grid(before), _flat_grid(now)
    again = {key.removesuffix(".name") for key in new}
    return {key: own for key, own in old.items() if key.removesuffix(".name") not in again} | new


def _flat_grid(values: Mapping[str, Any]) -> dict[str, Any]:
    """By dotted name; groups among the values of one setting stay what they are."""
    return _gathered(
        {key: own} if key in NAMED and _has_groups(own) else _flat(str(key), own)
        for key, own in values.items()
    )


def _gathered(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for own in parts:
        if both := [name for name in own if name in found]:
            raise OptionError(f"{both[0]} is said twice; leave out one of them")
        found |= own
    return found


def _flat(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {f"{name}.name" if name in NAMED else name: value}
    if not value:
        raise OptionError(f"{name}={{}}: expected a value, or a group with something in it")
    return {f"{name}.{inner}": own for inner, own in flattened(value).items()}


def _has_groups(value: object) -> bool:
    return isinstance(value, list | tuple) and any(isinstance(own, Mapping) for own in value)


def overlaid(*places: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of several places by dotted name, of which later ones win.

    Options that were said of another space or method than the last are left behind; those that were said
    before there was a name go to any.
    """
    last = {key: value for own in places for key, value in own.items()}
    found: dict[str, Any] = {}
    named: dict[str, Any] = {}
    for own in places:
        named |= {key: own[key] for key in CHOSEN if key in own}
        left = {key.partition(".")[0] for key, value in named.items() if value != last[key]}
        found |= {key: value for key, value in own.items() if key.partition(".")[0] not in left}
    return found


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


def spread(name: str, value: object) -> tuple[Any, ...]:
    """The values that a setting of a grid has: those of a list, and of ranges such as `0..4`.

    Raises:
        OptionError: If there are none or too many, or one stands twice.
    """
    several = value if isinstance(value, list | tuple) else (value,)
    found = [one for own in several for one in _range(name, own)]
    if not found or {} in found or value is None:
        raise OptionError(f"grid.{name}={format_value(value)}: expected values such as [1, 2] or 0..4")
    _check_once(name, found)
    return tuple(found)


def _check_once(name: str, values: Iterable[object]) -> None:
    seen: set[str] = set()
    for text in map(format_value, values):
        if text in seen:
            raise OptionError(
                f"grid.{name.removesuffix('.name')}: {text} stands there twice; leave out one of them"
            )
        seen.add(text)


def _match(value: object) -> re.Match[str] | None:
    """The ends of a range; None for what is none."""
    return RANGE.fullmatch(value.strip()) if isinstance(value, str) else None


def _range(name: str, value: object) -> Sequence[Any]:
    match = _match(value)
    if match is None:
        return (value,)
    first, last = int(match[1]), int(match[2])
    if first > last:
        raise OptionError(
            f"grid.{name}={value}: a range such as 0..4 goes from the smaller number to the larger"
        )
    check_count(f"grid.{name}={value}", last - first + 1, "values")
    return range(first, last + 1)


def check_count(place: str, count: int, what: str = "runs") -> None:
    """Refuses more runs, or values for them, than a stage can have.

    Raises:
        OptionError: Begins with the place, and says how many there are.
    """
    if count > RUNS:
        raise OptionError(f"{place}: {count:,} {what} are too many; at most {RUNS:,}")


def count_points(grid: Mapping[str, Sequence[Any]], rows: Sequence[Mapping[str, Any]]) -> int:
    """How many `points` there are, without making them."""
    return math.prod(map(len, grid.values())) * max(len(rows), 1)


def points(grid: Mapping[str, Sequence[Any]], rows: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    """Every combination of the grid, with each row.

    Raises:
        OptionError: If a row and the grid say the same setting, or the grid says one twice.
    """
    for row, combination in product(rows or ({},), product(*grid.values())):
        chosen = flattened(dict(zip(grid, combination, strict=True)))
        if both := [key for key in row if key in chosen]:
            raise OptionError(f"{both[0]} is in the grid and in a row of runs; leave it out of one of them")
        yield {**row, **chosen}


def name_of(varied: Mapping[str, Any], seed: int, known: Collection[str]) -> str:
    """What a run is called among those of its stage: `darts-lr0.1-s0`.

    The name depends on nothing but the run's own settings, so that others can be added later, and not on
    their order.

    Args:
        varied: The settings it has of its own, by dotted name; the seed is not among them.
        seed: Where its chance starts.
        known: All settings that there are, by dotted name.
    """
    words = [_value(varied[name]) for name in FIRST if name in varied]
    words += [f"{_short(name, known)}{_value(varied[name])}" for name in sorted(varied) if name not in FIRST]
    whole = "-".join([*words, f"s{seed}"])
    if len(whole) <= LONGEST:
        return whole
    mark = sha256(whole.encode()).hexdigest()[:8]
    return f"{'-'.join(words)[: LONGEST - 20]}-{mark}-s{seed}"


def _short(name: str, known: Collection[str]) -> str:
    """The last part of a setting's name where that says which it is; methods have any options."""
    last = name.rpartition(".")[2]
    others = [own for own in known if own.rpartition(".")[2] == last and own != name]
    return name if others or name.startswith("method.") else last


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(_value, value)) or "nothing"
    if isinstance(value, str) and "/" in value:
        value = Path(value).stem
    text = str(value).lower() if isinstance(value, bool) or value is None else str(value)
    return ODD.sub("_", text)
