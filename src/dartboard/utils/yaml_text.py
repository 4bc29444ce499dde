"""YAML with errors that name the line, and with duplicate keys refused."""

from typing import Any

import yaml

from dartboard.errors import one_line

MAX_LENGTH, MAX_VALUES = 1_000_000, 100_000
"""Most characters of a text, and most values in it."""
MERGE = "tag:yaml.org,2002:merge"
"""Tag of the key <<, which may occur several times."""


class YamlError(ValueError):
    """A text that is not valid YAML: what is wrong with it, and where, if that is known."""

    def __init__(self, reason: str, mark: yaml.Mark | None = None) -> None:
        self.reason = reason
        self.place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        super().__init__(f"{self.place}: {reason}" if self.place else reason)

    def about(self, name: object) -> str:
        """The error as one line about the file or text called `name`."""
        return f"{name} is not YAML: {self}"


class DuplicateKeyError(YamlError):
    """A text in which a mapping has the same key twice."""

    def about(self, name: object) -> str:
        """The error as one line about the file or text called `name`."""
        return f"{name}, {self}"


class _PositionMixin:
    """Adds the position to errors about dates or numbers that cannot exist."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)  # type: ignore[misc]
        except ValueError as error:
            raise YamlError(one_line(error), node.start_mark) from None


class YamlLoader(_PositionMixin, yaml.SafeLoader):
    """Loader for texts that people write, however deep they are nested."""


class FastYamlLoader(_PositionMixin, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Loader for texts that the program has written, several times as fast where libyaml is installed."""


def load(text: str | bytes, loader_class: type[YamlLoader] | type[FastYamlLoader] = YamlLoader) -> Any:
    """The value of a YAML text.

    Raises:
        YamlError: If it is not YAML, has a duplicate key, or is far too large; says where.
    """
    if len(text) > MAX_LENGTH:
        raise YamlError(f"it has {len(text):,} characters, more than the {MAX_LENGTH:,} that are read")
    try:
        loader = loader_class(text)
        node = loader.get_single_node()
        _check_size(node)
        _check_keys(node)
        return None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        raise YamlError(error.problem or error.context or "", error.problem_mark) from None
    except yaml.reader.ReaderError as error:
        raise YamlError(f"{error.reason} at character {error.position + 1}") from None
    except RecursionError:
        raise YamlError("it is nested too deep") from None


def _check_size(root: yaml.Node | None) -> None:
    """Refuses a text whose values are too many with every alias written out, or contain themselves."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    pending = [] if root is None else [(root, False)]
    while pending:
        node, is_counted = pending.pop()
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.CollectionNode):
            pairs = node.value if isinstance(node, yaml.MappingNode) else ((value,) for value in node.value)
            inner = [child for pair in pairs for child in pair]
        if is_counted:
            open_nodes.discard(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in inner)
            if sizes[id(node)] > MAX_VALUES:
                reason = f"it has more than {MAX_VALUES:,} values, those of aliases counted each time"
                raise YamlError(reason, node.start_mark)
        elif id(node) in open_nodes:
            raise YamlError("a value contains itself, by an alias", node.start_mark)
        elif id(node) not in sizes:
            open_nodes.add(id(node))
            pending += [(node, True), *((child, False) for child in inner)]


def _check_keys(root: yaml.Node | None) -> None:
    """Refuses a mapping that has a key twice: one of its values would be lost silently."""
    pending, seen = [(root, "")], set()
    while pending:
        node, path = pending.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))  # an anchored node may occur in several places, even inside itself
        if not isinstance(node, yaml.MappingNode):
            pending += [(value, path) for value in node.value]
            continue
        values: dict[tuple[str, str], yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
                continue
            if (key.tag, key.value) in values:
                reason = f"{path}{key.value} is said twice; leave out one of them"
                raise DuplicateKeyError(reason, key.start_mark)
            values[key.tag, key.value] = value
        pending += [(value, f"{path}{name}.") for (_, name), value in values.items()]


def format_value(value: object) -> str:
    """A value for an error message: strings in quotes, all else as it is written in YAML."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {format_value(item)}' for key, item in value.items())}}}"
    return repr(value)
