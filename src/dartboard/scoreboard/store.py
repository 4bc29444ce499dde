"""What a bench has in its directory: kept if it is the same, refused with its differences if it is not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dartboard.errors import DartboardError, OptionError, RunError, TableError
from dartboard.jobs.loops import differences
from dartboard.runs import Lock
from dartboard.scoreboard.config import BENCH, BenchConfig, read_bench
from dartboard.scoreboard.jobs import BenchSearch, bare, resolved, searches
from dartboard.scoreboard.records import BenchRecord
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH
from dartboard.utils import atomic

CONFIG = "bench.yaml"
GROWING = ("methods", "seeds")
"""What a bench may get more of."""


def _filled(settings: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The settings of a search with defaults for those that were not there when they were written."""
    try:
        return search_config.resolved(SEARCH.validate(settings))
    except (DartboardError, AttributeError) as error:  # the latter where there are no settings at all
        raise RunError(f"{path} has other settings than searches have: {error}") from None


def find_record(search: BenchSearch, folder: Path, oracle: str) -> BenchRecord | None:
    """The record of a search, if it is there.

    Raises:
        TableError: If it is damaged or of other settings; names them.
        RunError: If no search has its settings.
    """
    path = folder / f"{search.name}.json"
    if not path.exists():
        return None
    record = BenchRecord.read(path)
    before = {"oracle": record.oracle, **bare(_filled(record.settings, path))}
    if other := differences(before, {"oracle": oracle, **bare(search.settings())}):
        raise TableError(f"{path} is a record of other settings: {other}; name another --results")
    return record


def read_config(folder: Path) -> BenchConfig | None:
    """The bench that is in a directory, if there is one.

    Raises:
        DartboardError: If its configuration is damaged.
    """
    path = folder / CONFIG
    return BENCH.validate(read_bench(path)) if path.exists() else None


def keep_config(folder: Path, config: BenchConfig) -> BenchConfig:
    """Writes down the bench of a directory, and returns it: with what was asked of it before.

    Raises:
        OptionError: If it is there with other settings; names them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    while True:  # others may ask for more at the same time
        before = _content(folder)
        whole = joined(folder, config)
        text = yaml.safe_dump(resolved(whole), sort_keys=False)  # takes longer than others wait for a lock
        with Lock(folder):
            if _content(folder) == before:
                atomic.write_text(folder / CONFIG, text)
                return whole


def _content(folder: Path) -> bytes | None:
    path = folder / CONFIG
    return path.read_bytes() if path.exists() else None


def joined(folder: Path, config: BenchConfig) -> BenchConfig:
    """The bench of a directory with the methods and seeds of another besides; raises as `keep_config`."""
    before = read_config(folder)
    if before is None:
        return BENCH.validate(resolved(config))
    old, new = resolved(before), resolved(config)
    if other := _own_differences(old, new) or _method_differences(before, config):
        raise OptionError(
            f"{folder} is a bench with other settings: {other}; name another --out, or go on with its own by "
            f"--config {folder / CONFIG}"
        )
    more = {label: own for label, own in new["methods"].items() if label not in old["methods"]}
    methods = {**old["methods"], **more}
    return BENCH.validate({**old, "methods": methods, "seeds": [*old["seeds"], *new["seeds"]]})


def _own_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    before, now = ({key: value for key, value in own.items() if key not in GROWING} for own in (old, new))
    return differences(before, now)


def _method_differences(before: BenchConfig, config: BenchConfig) -> str:
    """Which settings of the methods that both have differ, in words; seeds are not among them."""
    old, new = (
        {label: search_config.resolved(own) for label, own in searches(each).items()}
        for each in (before, config)
    )
    both = [label for label in old if label in new]
    first = {label: {**old[label], "seed": 0} for label in both}
    return differences({"methods": first}, {"methods": {label: {**new[label], "seed": 0} for label in both}})
