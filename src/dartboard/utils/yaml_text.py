"""YAML as people write it: read by one reader, which says in which line something is wrong."""

from typing import Any

import yaml

from dartboard.errors import one_line

MERGE = "tag:yaml.org,2002:merge"
"""What the key << is called in the nodes of a text; several of them are allowed."""


class YamlError(ValueError):
    """A text that is not YAML.

    Args:
        reason: What is wrong with it.
        mark: Where, as far as that is known.
    """

    def __init__(self, reason: str, mark: yaml.Mark | None = None) -> None:
        self.reason = reason
        self.place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        super().__init__(f"{self.place}: {reason}" if self.place else reason)

    def about(self, name: object) -> str:
        """What is wrong, as a line about the thing that is called `name`."""
        return f"{name} is not YAML: {self}"


class DuplicateKeyError(YamlError):
    """A text that says the same key of the same group twice."""

    def about(self, name: object) -> str:
        """What is wrong, as a line about the thing that is called `name`."""
        return f"{name}, {self}"


class _Placing:
    """Says where in the text a date or a number is that cannot be."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)  # type: ignore[misc]
        except ValueError as error:
            raise YamlError(one_line(error), node.start_mark) from None


class Reader(_Placing, yaml.SafeLoader):
    """Reads what people write, however deep it is nested."""


class QuickReader(_Placing, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads what was written by the program itself, several times as fast where the build has it."""


def load(text: str | bytes, reader: type[Reader] | type[QuickReader] = Reader) -> Any:
    """What a text in YAML says.

    Raises:
        YamlError: If it is not YAML, or has a key twice; says where.
    """
    try:
        own = reader(text)
        node = own.get_single_node()
        _check_keys(node)
        return None if node is None else own.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise YamlError(error.problem or error.context or "", error.problem_mark) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"{error.reason} at character {error.position + 1}") from None
    except RecursionError:
        raise YamlError("it is nested too deep") from None


def _check_keys(node: yaml.Node | None) -> None:
    """Refuses a group that has a key twice: of both values one would be lost without a word."""
    left, seen = [(node, "")], set()
    while left:
        node, place = left.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))  # what has a name may stand in several places, even inside itself
        if isinstance(node, yaml.MappingNode):
            left += [(value, f"{place}{name}.") for name, value in _entries(node, place)]
        else:
            left += [(value, place) for value in node.value]


def _entries(node: yaml.MappingNode, place: str) -> list[tuple[str, yaml.Node]]:
    """The values of a group by their keys."""
    found: dict[tuple[str, str], yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        if (key.tag, key.value) in found:
            words = f"{place}{key.value} is said twice; leave out one of them"
            raise DuplicateKeyError(words, key.start_mark)
        found[key.tag, key.value] = value
    return [(name, value) for (_, name), value in found.items()]


def shown(value: object) -> str:
    """A value as an error shows it: texts in quotes, all else as it is written in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown(own)}' for key, own in value.items())}}}"
    return repr(value)
