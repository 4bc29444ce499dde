"""A bench: its searches, one for each method and seed, and the configuration that its directory keeps."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from dartboard.config.loader import long_form
from dartboard.errors import DartboardError, GenotypeError, OptionError, TableError, UnknownNameError
from dartboard.plugins import check_plugins
from dartboard.runs import Lock, differences
from dartboard.scoreboard.config import BENCH, ELSEWHERE, BenchConfig, read_bench
from dartboard.search import METHODS, make_method
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, SearchConfig, build_space
from dartboard.space import restrict, sample
from dartboard.tables import Table
from dartboard.utils import atomic
from dartboard.utils.checksums import read_file, settle, write_file

CONFIG, RECORDS = "bench.yaml", "records"
"""The file of the configuration and the folder of the records, in the directory of a bench."""
GROWING = ("methods", "seeds")
"""Settings that can be extended when a bench is run again."""


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


def common_search(config: BenchConfig) -> SearchConfig:
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
    """By label, the search of each method with the first seed, checked as far as is possible without images.

    Raises:
        DartboardError: If one of them is impossible; says which.
    """
    shared = common_search(config)
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
            if "seed" in settings:
                raise OptionError(
                    f"seed={settings['seed']!r}: every method has the seeds of the bench; set seeds"
                )
            by_name = {} if named else {"method": {"name": label}}
            search = SEARCH.merge([config.search, by_name, settings, {"seed": config.seeds[0]}])
            check_plugins(search.plugins)
            if search.space.name != shared.space.name:
                raise OptionError(
                    f"space={search.space.name!r}: all methods search one space, {shared.space.name!r}"
                )
            make_method(search.method.name, search.method.options)
            build_space(search.space)
        except DartboardError as error:
            raise OptionError(f"methods.{label}: {error}") from None
        configs[label] = search
    for name in config.baselines:
        if name in config.methods:
            raise OptionError(
                f"methods.{name}: a baseline has this name; set another label, or baselines without it"
            )
    return configs


def plan_jobs(config: BenchConfig) -> list[BenchSearch]:
    """All searches of a bench, every method with one seed before any has the next; raises as `searches`."""
    configs = searches(config)
    return [
        BenchSearch(label, search.model_copy(update={"seed": seed}))
        for seed in config.seeds
        for label, search in configs.items()
    ]


def resolved(config: BenchConfig) -> dict[str, Any]:
    """The configuration as plain values, with all defaults and full paths of files; raises as `searches`."""
    shared = search_config.resolved(common_search(config))
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
    return config.oracle or common_search(config).space.name


def check_space(config: BenchConfig, table: Table) -> None:
    """Raises TableError for a benchmark table that does not have the cells of the space."""
    choice = common_search(config).space
    try:
        restrict(table.space, sample(build_space(choice), Random(0)))
    except GenotypeError as error:
        raise TableError(
            f"the oracle {table.name} knows no cells of the space {choice.name}: {error}"
        ) from None


def portable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a search with files by name, without their folders: the same on every machine."""
    values: dict[str, Any] = json.loads(json.dumps(settings))
    for group in ("space", "data"):
        values[group] = {**values[group], "name": Path(values[group]["name"]).name}
    return values | {"plugins": [Path(path).name for path in values["plugins"]]}


def read_config(folder: Path) -> BenchConfig | None:
    """The configuration of the bench in a directory; None if there is none, DartboardError if damaged."""
    path = folder / CONFIG
    return BENCH.validate(read_bench(path, root=folder)) if os.path.lexists(path) else None


def write_config(folder: Path, config: BenchConfig) -> BenchConfig:
    """Writes the configuration of a bench, joined with the one that is in the directory, and returns it.

    Raises:
        OptionError: If it is there with other settings; names them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for shared in (folder, folder / RECORDS):
        atomic.remove_leftovers(shared, older_than=atomic.SHARED)
    path = folder / CONFIG
    while True:  # other processes may extend it at the same time
        before = _read_or_empty(path)
        extended = join_config(folder, config)
        text = yaml.safe_dump(resolved(extended), sort_keys=False)  # takes longer than a lock is waited for
        with Lock(folder):
            settle(folder)
            if _read_or_empty(path) == before:
                write_file(path, text)
                return extended


def _read_or_empty(path: Path) -> bytes:
    try:
        return read_file(path, root=path.parent)
    except FileNotFoundError:
        return b""


def join_config(folder: Path, config: BenchConfig) -> BenchConfig:
    """The bench of a directory, extended by methods and seeds; raises as `write_config`."""
    before = read_config(folder)
    if before is None:
        return BENCH.validate(resolved(config))
    old, new = resolved(before), resolved(config)
    fixed = ({key: value for key, value in values.items() if key not in GROWING} for values in (old, new))
    if changes := differences(*fixed) or _method_differences(before, config):
        raise OptionError(
            f"{folder} is a bench with other settings: {changes}; name another --out, or keep its own "
            f"by --config {folder / CONFIG}"
        )
    added = {label: method for label, method in new["methods"].items() if label not in old["methods"]}
    methods = {**old["methods"], **added}
    return BENCH.validate({**old, "methods": methods, "seeds": [*old["seeds"], *new["seeds"]]})


def _method_differences(before: BenchConfig, config: BenchConfig) -> str:
    """Differences between the settings of the methods that both benches have, seeds aside, in words."""
    old, new = (
        {label: {**search_config.resolved(search), "seed": 0} for label, search in searches(bench).items()}
        for bench in (before, config)
    )
    both = [label for label in old if label in new]
    return differences(
        {"methods": {label: old[label] for label in both}}, {"methods": {label: new[label] for label in both}}
    )
