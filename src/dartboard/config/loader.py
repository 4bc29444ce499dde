"""Where settings come from, and what is said when one of them is wrong.

Later places win over earlier ones: defaults, a recipe, a YAML file, environment variables such as
DARTBOARD_SEARCH_WEIGHTS__LR, flags, and words like `weights.lr=0.05`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeGuard, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from dartboard.errors import OptionError, UnknownNameError
from dartboard.utils import yaml_text

NAMED = ("space", "method", "data")
"""The groups that have a name; the name alone will do for them."""
CHOICES = ("space", "method")
"""Groups whose other values belong to the name: another name leaves them behind."""

EXAMPLES = {
    "space": "{name: nb201, cells: 3}",
    "method": "{name: darts, lr: 0.1}",
    "data": "{name: digits, pad: 1}",
}
"""What groups with a name look like."""

LIKE = {"tuple_type": ("list", "[one, two]"), "dict_type": ("group", "{epochs: 25}")}
"""By kind of mistake, what was expected, and what it looks like unless the setting has examples."""

Layer = Mapping[str, Any]
"""Settings from one place, nested."""

C = TypeVar("C", bound=BaseModel)


@dataclass(frozen=True)
class ConfigLoader(Generic[C]):
    """A kind of configuration, and where its settings may come from.

    Args:
        model: What checks it.
        recipes: Settings that have a name.
        prefix: How the environment variables begin that are settings.
    """

    model: type[C]
    recipes: Mapping[str, Callable[[], dict[str, Any]]]
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
        layers: list[Layer] = [
            base or {},
            self.recipes[recipe]() if recipe is not None else {},
            read_file(Path(file)) if file is not None else {},
            from_environment(environment or {}, self.prefix),
            flags or {},
            from_words(words),
        ]
        return self.merge(layers)

    def merge(self, layers: Sequence[Layer]) -> C:
        """The configuration of several layers, of which later ones win."""

        class Merged(BaseSettings):
            model_config = SettingsConfigDict(extra="allow")

            @classmethod
            def settings_customise_sources(
                cls, settings_cls: type[BaseSettings], *_: Source, **__: Source
            ) -> tuple[Source, ...]:
                return tuple(_LayerSource(settings_cls, said) for said in map(self.said, reversed(layers)))

        return self.validate(Merged().model_extra or {})

    def validate(self, values: Layer) -> C:
        """The configuration that plain values say."""
        try:
            return self.model.model_validate(self.said(values))
        except ValidationError as error:
            raise explain(error, self.model) from None

    def said(self, layer: Layer) -> dict[str, Any]:
        """The layer with names alone as groups, and without the groups that have nothing in them."""
        fields = self.model.model_fields
        groups = [name for name, field in fields.items() if _is_group(field.annotation)]
        return {
            key: value for key, value in long_form(layer).items() if value is not None or key not in groups
        }


class _LayerSource(Source):
    """One layer, without the groups that a later layer has replaced."""

    def __init__(self, settings: type[BaseSettings], layer: Layer) -> None:
        super().__init__(settings)
        self.layer = layer

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return self.layer.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return {key: value for key, value in self.layer.items() if not self._replaced(key, value)}

    def _replaced(self, key: str, value: Any) -> bool:
        later = self.current_state.get(key)
        if key not in CHOICES or not isinstance(value, Mapping) or not isinstance(later, Mapping):
            return False
        own = value.get("name")
        return bool(later.get("name", own) != own)


def long_form(layer: Layer) -> dict[str, Any]:
    """The layer with names alone written as groups."""
    short = {key: {"name": layer[key]} for key in NAMED if isinstance(layer.get(key), str)}
    return {**layer, **short}


def read_file(path: Path) -> dict[str, Any]:
    """The settings in a YAML file."""
    try:
        found = yaml_text.load(path.read_bytes())
    except OSError as error:
        raise OptionError(f"cannot read the configuration {str(path)!r}: {error.strerror}") from None
    except yaml_text.YamlError as error:
        raise OptionError(error.about(path)) from None
    if found is not None and not isinstance(found, dict):
        raise OptionError(f"{path}: expected lines such as 'epochs: 25', got {yaml_text.format_value(found)}")
    return {str(key): value for key, value in (found or {}).items()}


def from_environment(variables: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """The settings in environment variables that begin so; two underscores stand for a dot."""
    return from_words(environment_words(variables, prefix))


def environment_words(variables: Mapping[str, str], prefix: str) -> list[str]:
    """The same settings as words such as `weights.lr=0.05`."""
    found = {name.removeprefix(prefix): value for name, value in variables.items() if name.startswith(prefix)}
    return [f"{name.lower().replace('__', '.')}={value}" for name, value in found.items()]


def from_words(words: Iterable[str]) -> dict[str, Any]:
    """The settings in words such as `weights.lr=0.05`; of equal keys the last counts."""
    layer: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not all(key.split(".")):
            raise OptionError(f"expected a setting such as weights.lr=0.05, got {word!r}")
        _put(layer, key, _parse(key, text))
    return layer


def _parse(key: str, text: str) -> Any:
    try:
        return yaml_text.load(text)
    except yaml_text.DuplicateKeyError as error:
        raise OptionError(f"{key}={text}: {error.reason}") from None
    except yaml_text.YamlError as error:
        raise OptionError(f"{key}={text}: not a value in YAML ({error.reason})") from None


def _put(layer: dict[str, Any], key: str, value: Any) -> None:
    """Puts a value where its dotted key says; a name alone becomes a group that others can join."""
    *groups, last = key.split(".")
    if not groups and last in NAMED and isinstance(value, str):
        groups, last = [last], "name"
    for group in groups:
        inner = layer.get(group)
        layer[group] = inner if isinstance(inner, dict) else {}
        layer = layer[group]
    layer[last] = value


def explain(error: ValidationError, model: type[BaseModel]) -> OptionError | UnknownNameError:
    """The first mistake in a configuration that `model` checked, in words."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    key = ".".join(place)
    if first["type"] == "extra_forbidden":
        return UnknownNameError("setting", key, _known(model, place[:-1]))
    if first["type"] == "value_error":  # values that do not go together
        words = str(first["ctx"]["error"])
        return OptionError(words if words.startswith(f"{key}.") else f"{key}: {words}")
    reason = first["msg"][0].lower() + first["msg"][1:]
    if first["type"] == "model_type":
        reason = _expected(model, place)
    elif first["type"] in LIKE:
        reason = _like(model, place, *LIKE[first["type"]])
    return OptionError(f"{key}={yaml_text.format_value(first['input'])}: {reason}")


def _expected(model: type[BaseModel], groups: Sequence[str]) -> str:
    """What a group looks like, in words."""
    if groups[-1] in EXAMPLES:
        return f"expected a name, or a group such as {EXAMPLES[groups[-1]]}"
    name, field = next(iter(_group(model, groups).model_fields.items()))
    return f"expected a group such as {{{name}: {(field.examples or [field.default])[0]}}}"


def _like(model: type[BaseModel], place: Sequence[str], kind: str, example: str) -> str:
    """What a setting looks like that is a list, or a group of any names."""
    field = model.model_fields.get(".".join(place))
    examples = (field and field.examples) or [example]
    return f"expected a {kind} such as {examples[0]}"


def _known(model: type[BaseModel], groups: Sequence[str]) -> list[str]:
    """The dotted keys of a group."""
    return [".".join([*groups, name]) for name in _group(model, groups).model_fields]


def _group(model: type[BaseModel], groups: Sequence[str]) -> type[BaseModel]:
    """What checks a group of the configuration."""
    for group in groups:
        kind = model.model_fields[group].annotation
        assert _is_group(kind)  # noqa: S101
        model = kind
    return model


def _is_group(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
