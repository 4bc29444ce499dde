"""Configuration of a protocol, from files, the environment, flags and words of the command line.

A protocol in YAML; what is left out has a default:

    searches: 5
    seeds: 10
    search: {space: nb201, method: gaea-darts, data: cifar10, epochs: 25}   # the settings of a search
    train: {epochs: 200, net: {channels: 16}}                               # those of a training, but a cell
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

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
from dartboard.config.schema import Count, Options
from dartboard.data import DATASETS
from dartboard.errors import OptionError
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, SOURCE, SearchConfig, full_name
from dartboard.space import SPACES
from dartboard.train.config import TRAIN, TrainSettings

FIRST = 2**62
"""Upper bound of first seeds, so that those that follow are valid as well."""


class ProtocolTraining(TrainSettings):
    """Settings of the trainings of a protocol, which differ in their seeds."""

    seed: Annotated[int, Field(ge=0, lt=FIRST)] = Field(default=0, description="first seed of trainings")


class ProtocolConfig(Options):
    """Configuration of a protocol: everything it takes to repeat it."""

    kind: Literal["protocol"] = Field(default="protocol", description="kind of configuration")
    searches: Count = Field(default=5, description="stage 1: searches, each with a seed of its own")
    short: Count = Field(default=20, description="stage 2: epochs after which the clearly bad are pruned")
    keep: Count = Field(default=3, description="stage 2: largest number that are trained to the end")
    seeds: Count = Field(default=10, description="stage 3: trainings of the best network")
    random: Literal["none", "count", "time"] = Field(
        default="time",
        description="random architectures beside it: none, as many as searches, or as many as the time of "
        "the searches pays for",
    )
    seed: Annotated[int, Field(ge=0, lt=FIRST)] = Field(
        default=0, description="first seed of searches and of trainings, and of random architectures"
    )
    search: SearchConfig = SearchConfig()
    train: ProtocolTraining = ProtocolTraining()


PROTOCOL = ConfigLoader(ProtocolConfig, {}, "DARTBOARD_PROTOCOL_")
_LOADERS: dict[str, ConfigLoader[Any]] = {"search": SEARCH, "train": TRAIN}
"""The loaders of the settings of searches and trainings, by group."""


def load_protocol(
    *,
    recipes: Mapping[str, str] | None = None,
    files: Mapping[str, str | Path] | None = None,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Layer | None = None,
    words: Iterable[str] = (),
) -> ProtocolConfig:
    """The configuration from several places, of which later ones win.

    Trainings have the images of the searches unless other ones are named for them.

    Args:
        recipes: Names of recipes, by `search` and `train`.
        files: YAML files of a search and of a training, in the same way.
        file: A YAML file of a protocol.
        environment: Environment variables; those with the prefix DARTBOARD_PROTOCOL_, DARTBOARD_SEARCH_ or
            DARTBOARD_TRAIN_ count.
        flags: Values by key, those of searches and trainings in groups.
        words: Each `key=value`, such as `seeds=3` or `search.weights.lr=0.1`.

    Raises:
        UnknownNameError: If there is no such setting or recipe.
        OptionError: If a value cannot be used; says which.
    """
    environment, recipes, files = environment or {}, recipes or {}, files or {}
    places = [
        _split(read_file(Path(file)) if file is not None else {}),
        _split_words(environment_words(environment, PROTOCOL.prefix)),
        _split(flags or {}),
        _split_words(words),
    ]
    values = merge_layers([long_form(place[""]) for place in places])

    def inner(group: str, base: Layer) -> dict[str, Any]:
        loader, (from_file, *later) = _LOADERS[group], [place[group] for place in places]
        recipe = loader.recipes[recipes[group]]() if group in recipes else {}
        from_group_file = read_file(Path(files[group])) if group in files else {}
        variables = from_environment(environment, loader.prefix)
        layers = [base, recipe, from_file, from_group_file, variables, *later]
        return merge_layers([loader.normalize(layer) for layer in layers])

    seed = {"seed": values["seed"]} if "seed" in values else {}
    search = inner("search", seed)
    source = _source(search)
    train = inner("train", {**seed, "data": source})
    if _source(train).get("name") != source.get("name"):  # other images keep nothing of these
        train = inner("train", seed)
    return PROTOCOL.validate({**values, "search": search, "train": train})


def _split(layer: Layer) -> dict[str, Layer]:
    """The settings of searches, those of trainings, and under `""` those of the protocol."""
    groups = {name: {} if layer.get(name) is None else layer[name] for name in _LOADERS}
    for name, values in groups.items():
        if not isinstance(values, Mapping):
            raise OptionError(f"{name}={values!r}: expected a group such as {{epochs: 25}}")
    return {"": {key: value for key, value in layer.items() if key not in _LOADERS}, **groups}


def _split_words(words: Iterable[str]) -> dict[str, Layer]:
    groups: dict[str, list[str]] = {"": [], **{name: [] for name in _LOADERS}}
    for word in words:
        name, dot, rest = word.partition(".")
        if word.partition("=")[0] in _LOADERS:
            raise OptionError(f"expected a setting such as {word.partition('=')[0]}.epochs=25, got {word!r}")
        inside = bool(dot) and name in _LOADERS
        groups[name if inside else ""].append(rest if inside else word)
    return {name: from_words(group) for name, group in groups.items()}


def _source(search: Layer) -> dict[str, Any]:
    """The images of the searches, as far as they are named."""
    data = search.get("data")
    return {key: data[key] for key in SOURCE if key in data} if isinstance(data, Mapping) else {}


def resolved(config: ProtocolConfig) -> dict[str, Any]:
    """The configuration as plain values, with every default written out and files by full paths."""
    values = config.model_dump(mode="json")
    train = values["train"]
    if config.train.space.name is not None:
        train["space"]["name"] = full_name(config.train.space.name, SPACES)
    train["data"]["name"] = full_name(config.train.data.name, DATASETS)
    return {**values, "search": search_config.resolved(config.search), "train": train}
