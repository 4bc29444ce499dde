"""The searches of a bench: what each of them is, and the loops that do them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch

from dartboard.config.loader import long_form
from dartboard.errors import DartboardError, GenotypeError, OptionError, TableError, UnknownNameError
from dartboard.jobs.inner import Job as Inside
from dartboard.plugins import check_plugins
from dartboard.scoreboard.config import ELSEWHERE, BenchConfig, Settings
from dartboard.search import METHODS, Searcher, make_method
from dartboard.search import config as search_config
from dartboard.search.config import KeptImages, SearchConfig, build, build_space
from dartboard.search.hooks import AnyHook
from dartboard.search.settings import SEARCH
from dartboard.space import restrict, sample
from dartboard.tables import Table


@dataclass(frozen=True)
class Job:
    """A search of a bench.

    Args:
        label: What the table calls its method.
        config: What it does, its seed included.
    """

    label: str
    config: SearchConfig

    @property
    def seed(self) -> int:
        """Of the search."""
        return self.config.seed

    @property
    def name(self) -> str:
        """Of its directory, and of its record."""
        return f"{self.label}-s{self.seed}"

    def settings(self) -> dict[str, Any]:
        """All that it does as plain values, as its run has them."""
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


def plan_jobs(config: BenchConfig) -> list[Job]:
    """All searches of a bench, every method with one seed before any has the next; raises as `searches`."""
    found = searches(config)
    return [
        Job(label, own.model_copy(update={"seed": seed}))
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


class Maker(KeptImages):
    """Makes the loops of searches; images that several have in common are loaded once.

    Args:
        device: Where to compute.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def make(self, config: SearchConfig, hooks: Sequence[AnyHook] = ()) -> Searcher:
        """The loop of a search, without a run.

        Raises:
            DartboardError: If it cannot be made.
        """
        return Searcher(*build(config, images=self), device=self.device, hooks=hooks)

    def inside(self, job: Job) -> Inside:
        """A search as something that can be done, gone on with and kept."""
        space = build_space(job.config.space)
        return Inside(job.name, job.settings(), space, lambda hooks: self.make(job.config, hooks))
