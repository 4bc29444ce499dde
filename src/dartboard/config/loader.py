"""Where settings come from, and the messages when one of them is wrong.

Later places win over earlier ones: defaults, a recipe (a YAML file beside the schema of the settings), a YAML
file, environment variables such as DARTBOARD_SEARCH_WEIGHTS__LR, flags, and words like `weights.lr=0.05`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeGuard, TypeVar

from pydantic import BaseModel, ValidationError

from dartboard.config.schema import NAMED
from dartboard.errors import OptionError, UnknownNameError
from dartboard.registry import Registry
from dartboard.runs.directory import FORMAT, FORMAT_KEY
from dartboard.utils import checksums, yaml_text
from dartboard.utils.formats import check_format
from dartboard.utils.safe_files import TEXT_LIMIT

CHOICES = ("space", "method")
"""Groups whose other values belong to the name: another name replaces them all."""

EXAMPLES = {
    "space": "{name: nb201, cells: 3}",
    "method": "{name: darts, lr: 0.1}",
    "data": "{name: digits, pad: 1}",
}
"""Examples of groups that have a name."""

KIND_EXAMPLES = {"tuple_type": ("list", "[one, two]"), "dict_type": ("group", "{epochs: 25}")}
"""By kind of mistake, what was expected, and an example unless the setting has its own."""

Layer = Mapping[str, Any]
"""Settings from one place, nested."""
Recipe = Callable[[], dict[str, Any]]
"""Returns the settings of a recipe, nested; those it leaves out have their defaults."""

C = TypeVar("C", bound=BaseModel)


@dataclass(frozen=True)
class ConfigLoader(Generic[C]):
    """Loads a configuration of one kind from several places.

    Args:
        model: The schema, which checks it.
        recipes: Settings that have a name.
        prefix: Prefix of the environment variables that are settings.
    """

    model: type[C]
    recipes: Mapping[str, Recipe]
    prefix: str

    def load(
        self,
        *,
        recipe: str | None = None,
        file: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        flags: Layer | None = None,
        words: Iterable[str] = (),
        base: Layer | None = None,
    ) -> C:
        """The configuration that several places make together.

        Args:
            recipe: The name of a recipe.
            file: A YAML file.
            environment: Variables, of which those with the prefix count.
            flags: Values by key; a name alone will do for space, method and data.
            words: Each `key=value`, the key dotted and the value in YAML.
            base: Values that all others win over.

        Raises:
            UnknownNameError: If there is no such setting or recipe.
            OptionError: If a value cannot be used; says which.
        """
        return self.merge(
            [
                base or {},
                self.recipes[recipe]() if recipe is not None else {},
                read_file(Path(file)) if file is not None else {},
                from_environment(environment or {}, self.prefix),
                flags or {},
                from_words(words),
            ]
        )

    def merge(self, layers: Sequence[Layer]) -> C:
        """The configuration of several layers, of which later ones win."""
        return self.validate(merge_layers([self.normalize(layer) for layer in layers]))

    def validate(self, values: Layer) -> C:
        """The configuration with these values.

        Raises:
            UnknownNameError: If there is no such setting.
            OptionError: If a value cannot be used; says which.
        """
        try:
            return self.model.model_validate(self.normalize(values))
        except ValidationError as error:
            raise explain(error, self.model) from None

    def normalize(self, layer: Layer) -> dict[str, Any]:
        """The layer with names alone as groups, and without groups that are empty."""
        groups = [name for name, field in self.model.model_fields.items() if _is_group(field.annotation)]
        return {
            key: value for key, value in long_form(layer).items() if value is not None or key not in groups
        }


def merge_layers(layers: Sequence[Layer]) -> dict[str, Any]:
    """The values of several layers, unchecked; later ones win, group by group.

    A space or a method of another name replaces the whole group of the layers before it.
    """
    merged: dict[str, Any] = {}
    for layer in reversed(layers):
        values = dict(layer)
        for key in CHOICES:
            group, later = values.get(key), merged.get(key)
            if isinstance(group, Mapping) and isinstance(later, Mapping):
                name = group.get("name")
                if later.get("name", name) != name:
                    del values[key]
        merged = update_layer(values, merged)
    return merged


def update_layer(values: Layer, later: Layer) -> dict[str, Any]:
    """Nested values with those of `later` in their place."""
    updated = dict(values)
    for key, value in later.items():
        inner = updated.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        updated[key] = update_layer(inner, value) if both else value  # type: ignore[arg-type]
    return updated


def long_form(layer: Layer) -> dict[str, Any]:
    """The layer with names alone written as groups."""
    short = {key: {"name": layer[key]} for key in NAMED if isinstance(layer.get(key), str)}
    return {**layer, **short}


def read_file(path: Path, *, root: Path | None = None) -> dict[str, Any]:
    """The settings in a YAML file; `root` is the directory that it belongs to, None if the user has named it.

    Raises:
        OptionError: If it cannot be read, or is of a newer version of dartboard.
        RunError: If it is no file, or was changed after it was written.
    """
    try:
        if root is None and path.parts[:2] == ("/", "dev"):  # what a shell writes for <(command)
            with path.open("rb") as stream:
                text = stream.read(TEXT_LIMIT)
        else:
            text = checksums.read_file(path, root=root)
        values = yaml_text.load(text)
    except OSError as error:
        raise OptionError(f"cannot read the configuration {str(path)!r}: {error.strerror}") from None
    except yaml_text.YamlError as error:
        raise OptionError(error.about(path)) from None
    if values is not None and not isinstance(values, dict):
        raise OptionError(
            f"{path}: expected lines such as 'epochs: 25', got {yaml_text.format_value(values)}"
        )
    settings = {str(key): value for key, value in (values or {}).items()}
    if FORMAT_KEY in settings:  # the configuration of a run
        check_format(settings.pop(FORMAT_KEY), FORMAT, path, OptionError)
    return settings


def register_recipes(registry: Registry[Recipe], folder: Path, names: Iterable[str]) -> None:
    """Registers the recipe in `folder`/NAME.yaml for every name, in this order.

    A file starts with a comment of one line, the recipe's description.
    """
    for name in names:
        file = folder / f"{name}.yaml"
        recipe = partial(read_file, file)
        with file.open(encoding="utf-8") as lines:
            recipe.__doc__ = lines.readline().removeprefix("#").strip()
        registry.register(name, stacklevel=2)(recipe)


def from_environment(variables: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """The settings in environment variables that begin so; two underscores stand for a dot."""
    return from_words(environment_words(variables, prefix))


def environment_words(variables: Mapping[str, str], prefix: str) -> list[str]:
    """The same settings as words such as `weights.lr=0.05`."""
    return [
        f"{name.removeprefix(prefix).lower().replace('__', '.')}={value}"
        for name, value in variables.items()
        if name.startswith(prefix)
    ]


def from_words(words: Iterable[str]) -> dict[str, Any]:
    """The settings in words such as `weights.lr=0.05`; of equal keys the last counts."""
    layer: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not all(key.split(".")):
            raise OptionError(f"expected a setting such as weights.lr=0.05, got {word!r}")
        try:
            value = yaml_text.load(text)
        except yaml_text.DuplicateKeyError as error:
            raise OptionError(f"{key}={text}: {error.reason}") from None
        except yaml_text.YamlError as error:
            raise OptionError(f"{key}={text}: not a value in YAML ({error.reason})") from None
        *groups, last = key.split(".")
        if not groups and last in NAMED and isinstance(value, str):
            groups, last = [last], "name"  # a name alone becomes a group that others can join
        values = layer
        for group in groups:
            inner = values.get(group)
            values[group] = inner if isinstance(inner, dict) else {}
            values = values[group]
        values[last] = value
    return layer


def explain(error: ValidationError, model: type[BaseModel]) -> OptionError | UnknownNameError:
    """The first mistake in a configuration that `model` checked, in words."""
    first = error.errors()[0]
    *groups, name = (str(part) for part in first["loc"])
    key = ".".join([*groups, name])
    if first["type"] == "extra_forbidden":
        known = [".".join([*groups, field]) for field in _group_model(model, groups).model_fields]
        return UnknownNameError("setting", key, known)
    if first["type"] == "value_error":  # values that do not go together
        message = str(first["ctx"]["error"])
        return OptionError(message if message.startswith(f"{key}.") else f"{key}: {message}")
    reason = first["msg"][0].lower() + first["msg"][1:]
    if first["type"] == "model_type" and name in EXAMPLES:
        reason = f"expected a name, or a group such as {EXAMPLES[name]}"
    elif first["type"] == "model_type":
        inner, field = next(iter(_group_model(model, [*groups, name]).model_fields.items()))
        reason = f"expected a group such as {{{inner}: {(field.examples or [field.default])[0]}}}"
    elif first["type"] in KIND_EXAMPLES:
        kind, example = KIND_EXAMPLES[first["type"]]
        setting = model.model_fields.get(key)
        reason = f"expected a {kind} such as {((setting and setting.examples) or [example])[0]}"
    return OptionError(f"{key}={yaml_text.format_value(first['input'])}: {reason}")


def _group_model(model: type[BaseModel], groups: Sequence[str]) -> type[BaseModel]:
    """The schema of a group of the configuration."""
    for group in groups:
        kind = model.model_fields[group].annotation
        assert _is_group(kind)  # noqa: S101
        model = kind
    return model


def _is_group(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
