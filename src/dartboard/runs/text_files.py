"""The texts of a run: JSON and YAML that are checked when written and explained when damaged."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from os import SEEK_END
from pathlib import Path
from typing import Any

import yaml

from dartboard.errors import RunError
from dartboard.utils import yaml_text

_CHANGED = "it was changed after it was written"
_SHOWN = 60  # characters of a wrong value that an error shows
_END = 16384  # bytes that are read of the end of a file


class _Dumper(yaml.SafeDumper):
    """Writes a value that occurs twice twice, for people."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def plain(value: Any, place: str) -> Any:
    """The value made of dicts with str keys, lists, str, bool, None and finite numbers.

    Args:
        value: Such a value, or one with other mappings or with tuples in it.
        place: What to call it in an error.

    Raises:
        RunError: If there is anything else in it; says where.
    """
    if isinstance(value, Mapping):
        return {_key(key, place): plain(item, f"{place}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise RunError(f"{place} is {value}; only finite numbers are recorded: leave it out")
    if value is None or isinstance(value, str | int | float):
        return value
    raise RunError(f"{place} is a {type(value).__name__}; record numbers (`.item()`), texts, lists and dicts")


def _key(key: object, place: str) -> str:
    if isinstance(key, str):
        return key
    raise RunError(f"{place} has the key {key!r}; keys that are recorded are texts")


def line(value: Any) -> str:
    """Plain values as one line of JSON; floats keep every bit."""
    return json.dumps(value, allow_nan=False) + "\n"


def pretty(value: Any) -> str:
    """Plain values as JSON for people."""
    return json.dumps(value, allow_nan=False, indent=1) + "\n"


def read_json(path: Path) -> Any:
    """What a JSON file says; RunError if it is not JSON."""
    return parse(path.read_bytes(), str(path))


def read_object(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds; RunError if it holds none."""
    return as_object(read_json(path), str(path))


def as_object(value: Any, place: str) -> dict[str, Any]:
    """The value if it is a JSON object; RunError, with the place, if it is not."""
    if not isinstance(value, dict):
        raise RunError(f"{place} should hold names and values, not {_brief(value)}; {_CHANGED}")
    return value


def read_objects(path: Path) -> list[dict[str, Any]]:
    """The objects, at least one, that a JSON file lists; RunError if it lists none."""
    value = read_json(path)
    if not isinstance(value, list) or not value:
        raise RunError(f"{path} should hold a list of entries, not {_brief(value)}; {_CHANGED}")
    return [as_object(entry, f"{path}, entry {number}") for number, entry in enumerate(value, 1)]


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def parse(text: str | bytes, place: str) -> Any:
    """What a JSON text says; RunError, with the place, if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise RunError(f"{place} is not JSON ({error}); {_CHANGED}") from None


def to_yaml(config: Mapping[str, Any]) -> str:
    """A configuration as YAML in its own order, tuples as lists; RunError if YAML cannot say it."""
    try:
        return yaml.dump(dict(config), Dumper=_Dumper, sort_keys=False)
    except yaml.YAMLError as error:
        reason = " ".join(str(part) for part in error.args)
        raise RunError(f"the configuration cannot be written as YAML: {reason}; use plain values") from None


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds; RunError if it holds none."""
    return _mapping(path.read_bytes(), path)


def _mapping(text: bytes, path: Path) -> dict[str, Any]:
    try:
        config = yaml_text.load(text, yaml_text.FastYamlLoader)
    except yaml_text.YamlError as error:
        raise RunError(error.about(path)) from None
    if not isinstance(config, dict):
        raise RunError(f"{path} holds no configuration: expected keys and values, got {config!r}")
    return config


def read_blocks(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """As `read_yaml`, of some keys alone, in a fraction of the time; the rest is not looked at.

    Keys that stand at the beginning of a line, as `to_yaml` writes them, are cut out of the text with what is
    indented below them; a text that has none of them there is read as a whole.
    """
    text = path.read_bytes()
    pattern = rf"^(?:{'|'.join(map(re.escape, keys))}):.*\n?(?:[ \t-].*\n?)*"
    blocks = re.findall(pattern.encode(), text, re.MULTILINE)
    return _mapping(b"".join(blocks) or text, path)


def row(text: bytes, place: str) -> dict[str, Any]:
    """A line of metrics; RunError, with the place, if it does not say which epoch it is of."""
    found = as_object(parse(text, place), place)
    epoch = found.get("epoch")
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise RunError(f"{place} has no epoch with a whole number; {_CHANGED}")
    return found


def rows_from_end(path: Path) -> Iterator[dict[str, Any]]:
    """The last lines of metrics, the newest first, as many as one look at the end of the file shows."""
    if not path.exists():
        return
    with path.open("rb") as file:
        start = max(file.seek(0, SEEK_END) - _END, 0)
        file.seek(start)
        lines = file.read().splitlines()[1 if start else 0 :]  # the first of them may have lost its beginning
    for place, text in enumerate(reversed(lines), 1):
        yield row(text, f"{path}, {place} from the end")


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested values by dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return found
