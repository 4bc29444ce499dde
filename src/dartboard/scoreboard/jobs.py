"""The searches of a bench: one for each method and seed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from dartboard.config.loader import long_form
from dartboard.errors import DartboardError, GenotypeError, OptionError, TableError, UnknownNameError
from dartboard.plugins import check_plugins
from dartboard.scoreboard.config import ELSEWHERE, BenchConfig, Settings
from dartboard.search import METHODS, make_method
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, SearchConfig, build_space
from dartboard.space import restrict, sample
from dartboard.tables import Table


@dataclass(frozen=True)
class BenchSearch:
    """A search of a bench.

    Args:
        label: Name of its method in the table.
        config: Its configuration, seed included.
    """

    label: str
    config: SearchConfig

    @property
    def seed(self) -> int:
        """Random seed of the search."""
        return self.config.seed

    @property
    def name(self) -> str:
        """Name of its run directory and of its record."""
        return f"{self.label}-s{self.seed}"

    def settings(self) -> dict[str, Any]:
        """Its configuration as plain values, as its run has them."""
        return search_config.resolved(self.config)


def common(config: BenchConfig) -> SearchConfig:
    """The configuration that all searches share.

    Raises:
        UnknownNameError: If there is no such setting.
        OptionError: If a value cannot be used, or belongs elsewhere; says which.
    """
    for key, place in ELSEWHERE.items():
        if key in config.search:
            raise OptionError(f"{key} cannot be the same for all searches; set {place} in its place")
    return SEARCH.merge([config.search, {"kind": "search"}])


def searches(config: BenchConfig) -> dict[str, SearchConfig]:
    """By label, the search of each method with the first seed.

    Raises:
        DartboardError: If one of them is impossible; says which.
    """
    shared = common(config)
    if not config.methods:
        raise OptionError(
            f"a bench needs methods, such as --methods darts,gdas; there are {', '.join(METHODS)}"
        )
    configs = {}
    for label, settings in config.methods.items():
        method = long_form(settings).get("method")
        named = isinstance(method, Mapping) and "name" in method
        if not named and label not in METHODS:
            raise UnknownNameError("method", label, METHODS)
        try:
            configs[label] = _search(config, {} if named else {"method": {"name": label}}, settings, shared)
        except DartboardError as error:
            raise OptionError(f"methods.{label}: {error}") from None
    for name in config.baselines:
        if name in config.methods:
            raise OptionError(
                f"methods.{name}: a baseline has this name; set another label, or baselines without it"
            )
    return configs


def _search(config: BenchConfig, method: Settings, settings: Settings, shared: SearchConfig) -> SearchConfig:
    """The search of a method, checked as far as that is possible without images."""
    if "seed" in settings:
        raise OptionError(f"seed={settings['seed']!r}: every method has the seeds of the bench; set seeds")
    search = SEARCH.merge([config.search, method, settings, {"seed": config.seeds[0]}])
    check_plugins(search.plugins)
    if search.space.name != shared.space.name:
        raise OptionError(f"space={search.space.name!r}: all methods search one space, {shared.space.name!r}")
    make_method(search.method.name, search.method.options)
    build_space(search.space)
    return search


def plan_jobs(config: BenchConfig) -> list[BenchSearch]:
    """All searches of a bench, every method with one seed before any has the next; raises as `searches`."""
    configs = searches(config)
    return [
        BenchSearch(label, search.model_copy(update={"seed": seed}))
        for seed in config.seeds
        for label, search in configs.items()
    ]


def resolved(config: BenchConfig) -> dict[str, Any]:
    """The configuration as plain values, every default written out and files by full paths.

    Raises:
        DartboardError: As `searches`.
    """
    shared = search_config.resolved(common(config))
    methods = {}
    for label, search in searches(config).items():
        values = search_config.resolved(search)
        layer = {key: value for key, value in long_form(config.methods[label]).items() if key != "kind"}
        for group in ("data", "space"):
            if "name" in layer.get(group, {}):
                layer[group] = {**layer[group], "name": values[group]["name"]}
        methods[label] = {**layer, "method": values["method"]}
    return config.model_dump(mode="json") | {
        "oracle": oracle_name(config),
        "search": {key: value for key, value in shared.items() if key not in (*ELSEWHERE, "kind")},
        "methods": methods,
    }


def oracle_name(config: BenchConfig) -> str:
    """Name of the benchmark table."""
    return config.oracle or common(config).space.name


def check_space(config: BenchConfig, oracle: Table) -> None:
    """Refuses a benchmark table that does not have the cells of the space.

    Raises:
        TableError: Says so.
    """
    choice = common(config).space
    try:
        restrict(oracle.space, sample(build_space(choice), Random(0)))
    except GenotypeError as error:
        raise TableError(
            f"the oracle {oracle.name} knows no cells of the space {choice.name}: {error}"
        ) from None


def portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a search with files by name, without their folders: the same on every machine."""
    values: dict[str, Any] = json.loads(json.dumps(settings))
    for group in ("space", "data"):
        values[group] = {**values[group], "name": Path(values[group]["name"]).name}
    return values | {"plugins": [Path(path).name for path in values["plugins"]]}
