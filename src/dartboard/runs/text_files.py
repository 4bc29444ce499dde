"""JSON and YAML files of runs: checked when they are written, explained when they are damaged."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from dartboard.errors import RunError
from dartboard.utils import yaml_text
from dartboard.utils.checksums import read_file

_CHANGED = "it was changed after it was written"
_SHOWN = 60  # characters of a wrong value in an error
_END = 16384  # bytes parsed at the end of a file


class _Dumper(yaml.SafeDumper):
    """Writes values that occur twice in full instead of as aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def plain(value: Any, place: str) -> Any:
    """The value, other mappings as dicts and tuples as lists: str keys, str, bool, None and finite numbers.

    Raises:
        RunError: If it contains anything else; says where in `place`, the name of the value.
    """
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise RunError(f"{place} has the key {key!r}; keys that are recorded are texts")
        return {key: plain(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise RunError(f"{place} is {value}; only finite numbers are recorded: leave it out")
    if value is None or isinstance(value, str | int | float):
        return value
    raise RunError(f"{place} is a {type(value).__name__}; record numbers (`.item()`), texts, lists and dicts")


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Plain values as JSON that ends with a newline, on one line by default; floats keep every bit."""
    return json.dumps(value, allow_nan=False, indent=indent) + "\n"


def read_object(path: Path, root: Path | None = None) -> dict[str, Any]:
    """The object in a JSON file of the folder `root`, by default its own; RunError if it is none."""
    return as_object(parse(read_file(path, root=root or path.parent), str(path)), str(path))


def as_object(value: Any, place: str) -> dict[str, Any]:
    """The value if it is a JSON object; RunError, with the place, if it is not."""
    if not isinstance(value, dict):
        raise RunError(f"{place} should hold names and values, not {_brief(value)}; {_CHANGED}")
    return value


def read_objects(path: Path) -> list[dict[str, Any]]:
    """The non-empty list of objects in a JSON file; RunError if it is something else."""
    value = parse(read_file(path, root=path.parent), str(path))
    if not isinstance(value, list) or not value:
        raise RunError(f"{path} should hold a list of entries, not {_brief(value)}; {_CHANGED}")
    return [as_object(entry, f"{path}, entry {number}") for number, entry in enumerate(value, 1)]


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def parse(text: str | bytes, place: str) -> Any:
    """The value of a JSON text; RunError, with the place, if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{place} is not JSON ({error}); {_CHANGED}") from None


def to_yaml(config: Mapping[str, Any]) -> str:
    """A configuration as YAML in its own order, tuples as lists; RunError for other types."""
    try:
        return yaml.dump(dict(config), Dumper=_Dumper, sort_keys=False)
    except yaml.YAMLError as error:
        reason = " ".join(str(part) for part in error.args)
        raise RunError(f"the configuration cannot be written as YAML: {reason}; use plain values") from None


def read_yaml(path: Path, keys: Sequence[str] = ()) -> dict[str, Any]:
    """The mapping in a YAML file; RunError if it is something else.

    Args:
        path: The file.
        keys: The keys that are wanted, read in a fraction of the time: keys at the beginning of a line, as
            `to_yaml` writes them, are cut out of the text with what is indented below them, and the rest
            is not parsed. A text without any of them is parsed as a whole, and so it is if none are named.
    """
    text = read_file(path, root=path.parent)
    if keys:
        pattern = rf"^(?:{'|'.join(map(re.escape, keys))}):.*\n?(?:[ \t-].*\n?)*"
        text = b"".join(re.findall(pattern.encode(), text, re.MULTILINE)) or text
    try:
        config = yaml_text.load(text, yaml_text.FastYamlLoader)
    except yaml_text.YamlError as error:
        raise RunError(error.about(path)) from None
    if not isinstance(config, dict):
        raise RunError(f"{path} holds no configuration: expected keys and values, got {config!r}")
    return config


def row(text: bytes, place: str) -> dict[str, Any]:
    """A line of metrics; RunError, with the place, if it has no epoch."""
    metrics = as_object(parse(text, place), place)
    epoch = metrics.get("epoch")
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise RunError(f"{place} has no epoch with a whole number; {_CHANGED}")
    return metrics


def rows(data: bytes, path: Path) -> list[dict[str, Any]]:
    """All lines of the metrics in a file; RunError, with the line, if one has no epoch."""
    return [row(text, f"{path}, line {number}") for number, text in enumerate(data.splitlines(), 1)]


def rows_from_end(path: Path) -> Iterator[dict[str, Any]]:
    """The last lines of metrics, newest first, as many as a few kilobytes at the end of the file hold."""
    try:
        data = read_file(path, root=path.parent)
    except FileNotFoundError:
        return
    lines = data[-_END:].splitlines()[1 if len(data) > _END else 0 :]  # the first may be incomplete
    for place, text in enumerate(reversed(lines), 1):
        yield row(text, f"{path}, {place} from the end")


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values, flattened to dotted names."""
    flattened: dict[str, Any] = {}
    for name, value in values.items():
        flattened |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return flattened


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Which settings differ, in words; empty if none do."""
    old, new = flat(before), flat(now)
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return ", ".join(f"{name} was {old.get(name)}, is {new.get(name)}" for name in names)
