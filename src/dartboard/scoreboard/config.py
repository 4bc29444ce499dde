"""Configuration of a bench, from a file, the environment, flags and words of the command line.

A bench in YAML; what is left out has a default:

    oracle: nb201                # by default the table of the space
    search: {space: {name: nb201, cells: 1}, data: cifar10, epochs: 25}   # the settings of every search
    methods:                     # settings by label; a label is the name of a method, unless it names another
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
    update_layer,
)
from dartboard.config.schema import MAX_COUNT, Count, Options, Seed
from dartboard.errors import DartboardError, OptionError, UnknownNameError
from dartboard.scoreboard.baselines import BASELINES
from dartboard.search.config import SEARCH, SearchConfig

SEEDS = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds in a text such as `0-9`, `0,3,5` or `7`; raises ValueError if it is not such a text."""
    seeds: list[int] = []
    for part in text.split(","):
        match = SEEDS.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < first + MAX_COUNT:
            raise ValueError(f"expected seeds such as 0-9, 0,3,5 or 7, got {text!r}")
        seeds += range(first, last + 1)
    return tuple(seeds)


def as_seeds(value: object) -> object:
    """A text or a single number as seeds; raises ValueError if a text is none."""
    if isinstance(value, str):
        return parse_seeds(value)
    return (value,) if isinstance(value, int) else value


LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""Labels are parts of names of files and of settings."""
ELSEWHERE = {"method": "methods.LABEL.method", "seed": "seeds"}
"""Settings that searches do not share, and where they belong instead."""

Settings = dict[str, Any]


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def by_label(value: object) -> object:
    """Settings of methods by label; a label alone, or a list of labels, will do."""
    value = _as_tuple(value)
    if isinstance(value, Sequence) and all(isinstance(label, str) for label in value):
        value = dict.fromkeys(value)
    if isinstance(value, Mapping):
        return {label: {} if settings is None else settings for label, settings in value.items()}
    return value


class BenchConfig(Options):
    """Configuration of a bench: everything it takes to repeat it."""

    kind: Literal["bench"] = Field(default="bench", description="kind of configuration")
    oracle: str | None = Field(default=None, description="benchmark table; by default that of the space")
    search: Settings = Field(default={}, description="the settings of every search")
    methods: Annotated[dict[str, Settings], BeforeValidator(by_label)] = Field(
        default={}, description="settings of searches by label, in addition to those of all"
    )
    seeds: Annotated[tuple[Seed, ...], BeforeValidator(as_seeds)] = Field(
        default=(0, 1, 2), description="random seeds of the searches with each method"
    )
    baselines: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = Field(
        default=("random", "evolution"), description="baselines that query the benchmark table"
    )
    queries: Count | None = Field(
        default=None,
        description="architectures that a baseline may query; by default as many as the mean time of "
        "the searches pays for",
    )
    draws: Count = Field(default=200, description="how many times each baseline is repeated")
    correlation: Annotated[int, Field(ge=0, le=MAX_COUNT)] = Field(
        default=50,
        description="random architectures ranked with shared weights, for rank correlations; 0 for none",
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
            BASELINES[name]  # fail fast on an unknown baseline
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
    """The configuration from several places, of which later ones win.

    Args:
        file: A YAML file of a bench.
        environment: Environment variables; those with the prefix DARTBOARD_SEARCH_ or DARTBOARD_BENCH_ count.
        flags: Values by key, those of searches in their group.
        words: Each `key=value`: a setting of the bench such as `draws=100` or `methods.gdas.epochs=50`, or
            else of every search.
        labels: Labels of the methods to run; None for all that have settings.

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
        for label in (label for place in places[1:] for label in place["methods"]):
            if label not in labels:
                chosen = ", ".join(labels)
                raise OptionError(f"methods.{label} has settings and is none of the methods {chosen}")
        named = dict.fromkeys(labels)
    methods = {label: merge_layers([place["methods"].get(label, {}) for place in places]) for label in named}
    search = merge_layers([place["search"] for place in places])
    return BENCH.validate({**values, "search": search, "methods": methods})


def read_bench(path: Path, *, root: Path | None = None) -> dict[str, Any]:
    """The settings of a bench in a YAML file; raises OptionError, which names the file, for a mistake.

    Args:
        path: The file.
        root: The bench that it belongs to; None for a file that the user has named.
    """
    layer = read_file(path, root=root)
    try:
        parts = _split(layer)
        BENCH.validate({**parts[""], "search": parts["search"], "methods": parts["methods"]})
        SEARCH.merge([parts["search"], {"kind": "search"}])
    except DartboardError as error:
        raise OptionError(f"{path}: {error}") from None
    return layer


def _split(layer: Layer) -> dict[str, Any]:
    """The settings of searches, those of methods, and under `""` those of the bench; names become groups."""
    search = _group(layer.get("search"), "search", "epochs: 25")
    methods = _group(by_label(layer.get("methods")), "methods", "gdas: {epochs: 50}")
    return {
        "": {key: value for key, value in layer.items() if key not in GROUPS},
        "search": long_form(search),
        "methods": {
            label: long_form(_group(settings, f"methods.{label}", "epochs: 25"))
            for label, settings in methods.items()
        },
    }


def _group(value: object, name: str, example: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise OptionError(f"{name}={value!r}: expected a group such as {{{example}}}")
    return value


def _from_words(words: Iterable[str]) -> dict[str, Any]:
    """The settings in words, split as `_split` does; one that is none of the bench is of every search."""
    layer = _split({})
    for word in words:
        key, dot, rest = word.partition(".")
        name = key.partition("=")[0]
        if key == "search" and dot:
            setting = {"search": from_words([rest])}
        elif name in BenchConfig.model_fields:
            setting = from_words([word])
        elif "=" in word and name not in SearchConfig.model_fields:
            raise UnknownNameError("setting", name, [*BenchConfig.model_fields, *SearchConfig.model_fields])
        else:
            setting = {"search": from_words([word])}
        layer = update_layer(layer, _split(setting))
    return layer
