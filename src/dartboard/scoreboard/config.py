"""Everything that says what a bench does, gathered from several places.

In YAML a bench reads like this; what is left out has a default:

    oracle: nb201                # by default the one that has the name of the space
    search: {space: {name: nb201, cells: 1}, data: cifar10, epochs: 25}   # the settings of every search
    methods:                     # by label, what differs; a label is a method's name, unless another is named
      gaea-darts-erm: {method: {lr: 2.8, joint: true}, space: {without: [none]}}
      darts-erm: {method: {name: darts, bilevel: false}}
      gdas: {epochs: 50}
    seeds: 0-2
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from dartboard.config.loader import (
    ConfigLoader,
    Layer,
    environment_words,
    from_environment,
    from_words,
    long_form,
    merge_layers,
    read_file,
)
from dartboard.config.schema import MAX_COUNT, Count, Options, Seed
from dartboard.errors import DartboardError, OptionError, UnknownNameError
from dartboard.scoreboard.baselines import BASELINES
from dartboard.scoreboard.seeds import as_seeds
from dartboard.search.config import SEARCH, SearchConfig

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""Labels are parts of names of files and of settings."""
ELSEWHERE = {"method": "methods.LABEL.method", "seed": "seeds"}
"""What is no setting of all searches, and where it is said instead."""

Settings = dict[str, Any]


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def labelled(value: object) -> object:
    """Methods by their labels, where a label alone, or a list of them, will do."""
    value = _several(value)
    if isinstance(value, Sequence) and all(isinstance(own, str) for own in value):
        value = dict.fromkeys(value)
    if isinstance(value, Mapping):
        return {label: {} if own is None else own for label, own in value.items()}
    return value


class BenchConfig(Options):
    """Everything it takes to repeat a bench."""

    kind: Literal["bench"] = Field(default="bench", description="what this is the configuration of")
    oracle: str | None = Field(default=None, description="who is asked; by default the space's own")
    search: Settings = Field(default={}, description="the settings of every search")
    methods: Annotated[dict[str, Settings], BeforeValidator(labelled)] = Field(
        default={}, description="by label, what a search has for settings besides"
    )
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(as_seeds)] = Field(
        default=(0, 1, 2), description="of the searches with each method"
    )
    baselines: Annotated[tuple[str, ...], BeforeValidator(_several)] = Field(
        default=("random", "evolution"), description="what asks the oracle itself"
    )
    queries: Count | None = Field(
        default=None,
        description="architectures that baselines may ask about; by default as many as the mean time of "
        "the searches pays for",
    )
    draws: Count = Field(default=200, description="how many times each baseline is repeated")
    correlation: Annotated[int, Field(ge=0, le=MAX_COUNT)] = Field(
        default=50, description="architectures whose order by shared weights is compared; 0 for none"
    )

    @field_validator("methods")
    @classmethod
    def _check_labels(cls, methods: dict[str, Settings]) -> dict[str, Settings]:
        for label in methods:
            if not LABEL.fullmatch(label):
                raise ValueError(f"a label has letters, digits, - and _ alone, unlike {label!r}")
        return methods

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if not seeds:
            raise ValueError("expected at least one seed, such as 0-2")
        return tuple(sorted(set(seeds)))

    @field_validator("baselines")
    @classmethod
    def _check_baselines(cls, baselines: tuple[str, ...]) -> tuple[str, ...]:
        for name in baselines:
            BASELINES[name]  # one that is not there is better known at once
        return tuple(dict.fromkeys(baselines))

    @field_validator("correlation")
    @classmethod
    def _check_correlation(cls, correlation: int) -> int:
        if correlation == 1:
            raise ValueError("one architecture has no order; expected 0 for none, or at least 2")
        return correlation


BENCH = ConfigLoader(BenchConfig, {}, "DARTBOARD_BENCH_")
GROUPS = ("search", "methods")


def load_bench(
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Layer | None = None,
    words: Iterable[str] = (),
    labels: Sequence[str] | None = None,
) -> BenchConfig:
    """The configuration that several places make together, later ones winning.

    Args:
        file: A YAML file of a whole bench.
        environment: Variables, of which those count that begin with DARTBOARD_SEARCH_ or DARTBOARD_BENCH_.
        flags: Values by key, those of searches in their group.
        words: Each `key=value`: the bench's own such as `draws=100` or `methods.gdas.epochs=50`, all others
            settings of every search.
        labels: The methods that are meant, of the file's and others; None for those that are named elsewhere.

    Raises:
        UnknownNameError: If there is no such setting or baseline.
        OptionError: If a value cannot be used; says which.
    """
    environment = environment or {}
    places = [
        _split(read_bench(Path(file)) if file is not None else {}),
        _split({"search": from_environment(environment, SEARCH.prefix)}),
        _from_words(environment_words(environment, BENCH.prefix)),
        _split(flags or {}),
        _from_words(words),
    ]
    values = merge_layers([long_form(place[""]) for place in places])
    named = dict.fromkeys(label for place in places for label in place["methods"])
    if labels is not None:
        _check_chosen(labels, [label for place in places[1:] for label in place["methods"]])
        named = dict.fromkeys(labels)
    methods = {label: merge_layers([place["methods"].get(label, {}) for place in places]) for label in named}
    search = merge_layers([place["search"] for place in places])
    return BENCH.validate({**values, "search": search, "methods": methods})


def read_bench(path: Path) -> dict[str, Any]:
    """The settings of a bench in a YAML file.

    Raises:
        OptionError: If it cannot be read, or a value cannot be used; names the file.
    """
    layer = read_file(path)
    try:
        parts = _split(layer)
        BENCH.validate({**parts[""], "search": parts["search"], "methods": parts["methods"]})
        SEARCH.merge([parts["search"], {"kind": "search"}])
    except DartboardError as error:
        raise OptionError(f"{path}: {error}") from None
    return layer


def _check_chosen(labels: Sequence[str], named: Sequence[str]) -> None:
    """A setting of a method that is not asked for would have no effect."""
    for label in named:
        if label not in labels:
            raise OptionError(f"methods.{label} has settings and is none of the methods {', '.join(labels)}")


def _split(layer: Layer) -> dict[str, Any]:
    """The settings of searches, those of methods, and under no name the others; names alone as groups."""
    search = _group(layer.get("search"), "search", "epochs: 25")
    methods = _group(labelled(layer.get("methods")), "methods", "gdas: {epochs: 50}")
    return {
        "": {key: value for key, value in layer.items() if key not in GROUPS},
        "search": long_form(search),
        "methods": {
            label: long_form(_group(own, f"methods.{label}", "epochs: 25")) for label, own in methods.items()
        },
    }


def _group(value: object, name: str, example: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise OptionError(f"{name}={value!r}: expected a group such as {{{example}}}")
    return value


def _from_words(words: Iterable[str]) -> dict[str, Any]:
    """The settings in words, split; groups that several words name are joined."""
    found = _split({})
    for word in words:
        found = _joined(found, _split(_from_word(word)))
    return found


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both groups in one; of equal keys the latter's counts."""
    found = dict(one)
    for key, value in other.items():
        inner = found.get(key)
        both = isinstance(inner, Mapping) and isinstance(value, Mapping)
        found[key] = _joined(inner, value) if both else value  # type: ignore[arg-type]
    return found


def _from_word(word: str) -> dict[str, Any]:
    """The setting in a word; one that is not the bench's own is in the group of searches."""
    key, dot, rest = word.partition(".")
    name = key.partition("=")[0]
    if key == "search" and dot:
        return {"search": from_words([rest])}
    if name in BenchConfig.model_fields:
        return from_words([word])
    _check_known(name, word)
    return {"search": from_words([word])}


def _check_known(name: str, word: str) -> None:
    if "=" in word and name not in SearchConfig.model_fields:
        raise UnknownNameError("setting", name, [*BenchConfig.model_fields, *SearchConfig.model_fields])
