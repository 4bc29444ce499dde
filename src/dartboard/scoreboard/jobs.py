"""The searches of a bench, and the jobs that run them and score what they found."""

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
    """What all searches have in common.

    Raises:
        UnknownNameError: If there is no such setting.
        OptionError: If a value cannot be used, or belongs elsewhere; says which.
    """
    for key, place in ELSEWHERE.items():
        if key in config.search:
            raise OptionError(f"{key} cannot be the same for all searches; set {place} in its place")
    return SEARCH.merge([config.search, {"kind": "search"}])


def searches(config: BenchConfig) -> dict[str, SearchConfig]:
    """By label, the search of each method with the first seed; everything that a name says is there.

    Raises:
        DartboardError: If one of them cannot be; says which.
    """
    usual = common(config)
    if not config.methods:
        raise OptionError(
            f"a bench needs methods, such as --methods darts,gdas; there are {', '.join(METHODS)}"
        )
    found = {}
    for label, own in config.methods.items():
        if not _names_method(own) and label not in METHODS:
            raise UnknownNameError("method", label, METHODS)
        try:
            found[label] = _search(config, label, own)
            _check(found[label], usual)
        except DartboardError as error:
            raise OptionError(f"methods.{label}: {error}") from None
    _check_baselines(config)
    return found


def _names_method(own: Settings) -> bool:
    method = long_form(own).get("method")
    return isinstance(method, Mapping) and "name" in method


def _search(config: BenchConfig, label: str, own: Settings) -> SearchConfig:
    if "seed" in own:
        raise OptionError(f"seed={own['seed']!r}: every method has the seeds of the bench; set seeds")
    seed = {"seed": config.seeds[0]}
    first = {} if _names_method(own) else {"method": {"name": label}}
    return SEARCH.merge([config.search, first, own, seed])


def _check(search: SearchConfig, usual: SearchConfig) -> None:
    check_plugins(search.plugins)
    if search.space.name != usual.space.name:
        raise OptionError(f"space={search.space.name!r}: all methods search one space, {usual.space.name!r}")
    make_method(search.method.name, search.method.options)
    build_space(search.space)


def _check_baselines(config: BenchConfig) -> None:
    for name in config.baselines:
        if name in config.methods:
            raise OptionError(
                f"methods.{name}: a baseline has this name; set another label, or baselines without it"
            )


def plan_jobs(config: BenchConfig) -> list[BenchSearch]:
    """All searches of a bench, every method with one seed before any has the next; raises as `searches`."""
    found = searches(config)
    return [
        BenchSearch(label, own.model_copy(update={"seed": seed}))
        for seed in config.seeds
        for label, own in found.items()
    ]


def resolved(config: BenchConfig) -> dict[str, Any]:
    """The configuration as plain values, every default written out and files by full paths.

    Raises:
        DartboardError: As `searches`.
    """
    usual = search_config.resolved(common(config))
    methods = {label: _own(config.methods[label], search) for label, search in searches(config).items()}
    return config.model_dump(mode="json") | {
        "oracle": oracle_name(config),
        "search": {key: value for key, value in usual.items() if key not in (*ELSEWHERE, "kind")},
        "methods": methods,
    }


def _own(own: Settings, search: SearchConfig) -> dict[str, Any]:
    """What a method has of its own, its method with all options."""
    values = search_config.resolved(search)
    layer = {key: value for key, value in long_form(own).items() if key != "kind"}
    for group in ("data", "space"):
        if "name" in layer.get(group, {}):
            layer[group] = {**layer[group], "name": values[group]["name"]}
    return {**layer, "method": values["method"]}


def oracle_name(config: BenchConfig) -> str:
    """Who is asked."""
    return config.oracle or common(config).space.name


def check_space(config: BenchConfig, oracle: Table) -> None:
    """Refuses an oracle that does not know the cells of the space.

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


def bare(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a search with files by their names alone, so that they are the same everywhere."""
    found: dict[str, Any] = json.loads(json.dumps(settings))
    for group in ("space", "data"):
        found[group] = {**found[group], "name": Path(found[group]["name"]).name}
    return found | {"plugins": [Path(path).name for path in found["plugins"]]}
