"""Everything that says what a sweep does, gathered from a file and words.

In YAML a sweep reads like this; what is left out has a default:

    do: search                                   # or train
    settings: {data: digits, epochs: 5}          # of all runs; nested, or dotted such as weights.lr
    grid: {method: [darts, gaea-darts], seed: 0..4}     # every combination; a..b is a range
    runs: [{weights.lr: 0.05}, {weights.lr: 0.1}]       # each with every combination of the grid
    words: {batch: 32}                           # settings above all others
    stop: {after: 2, keep: 5}                    # the clearly bad go no further than 2 epochs

or, in several stages of which each takes the cells of one before it:

    stages:
      search: {do: search, grid: {seed: 0..9}}
      screen: {do: train, cells: search, stop: {after: 20}, settings: {seed: 10}}
      final: {do: train, cells: best of screen, grid: {seed: 0..9}}
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, field_validator

from dartboard.config.loader import ConfigLoader, Layer, from_words, read_file
from dartboard.config.schema import Count, Options
from dartboard.errors import DartboardError, OptionError
from dartboard.sweep.grid import (
    check_count,
    count_points,
    flattened,
    overlaid,
    regridded,
    settings,
    spread_all,
)
from dartboard.utils.yaml_text import format_value

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""Names of stages are names of folders and parts of settings."""
TAKEN = ("images", "lock", "ray", "slurm", "stages")
"""What is in a sweep and is no stage."""
OUTSIDE = ("do", "recipe", "grid", "runs", "cells", "stop")
"""What a sweep of several stages says in each of them."""

NEEDED = ("recipe", "settings", "grid", "runs", "cells", "words", "stages")
"""What a sweep says at least one of; without it there would be one run with all defaults."""


def _group(value: object) -> object:
    value = {} if value is None else value
    return settings(value) if isinstance(value, Mapping) else value


def _grid(value: object) -> object:
    value = {} if value is None else value
    return spread_all(value) if isinstance(value, Mapping) else value


def _rows(value: object) -> object:
    return () if value is None else value


def _several(value: object) -> object:
    return (value,) if isinstance(value, int) else value


def _named(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


Number = Annotated[Count, Field(strict=True)]
"""A number of times; true is none."""
Settings = Annotated[dict[str, Any], BeforeValidator(_group)]
"""By dotted name."""


class StopRule(Options):
    """When runs that are clearly worse than the best of their stage go no further."""

    after: Annotated[tuple[Number, ...], BeforeValidator(_several)] = Field(
        default=(),
        examples=[5],
        description="after so many epochs, or after each of several; by default never",
    )
    keep: Number = Field(default=3, description="at most so many go further")

    @field_validator("after")
    @classmethod
    def _check_order(cls, after: tuple[int, ...]) -> tuple[int, ...]:
        if any(one >= other for one, other in pairwise(after)):
            raise ValueError(f"expected epochs in rising order, such as [5, 20], got {list(after)}")
        return after


class StageConfig(Options):
    """Runs of one kind."""

    do: Literal["search", "train"] = Field(default="search", description="what each run is")
    recipe: str | None = Field(default=None, description="the settings of a paper, below all others")
    settings: Settings = Field(default={}, description="of all runs")
    grid: Annotated[dict[str, tuple[Any, ...]], BeforeValidator(_grid)] = Field(
        default={},
        examples=["{seed: 0..4}"],
        description="by setting, its values; every combination is a run",
    )
    runs: Annotated[tuple[Settings, ...], BeforeValidator(_rows)] = Field(
        default=(),
        examples=["[{epochs: 5}, {epochs: 10}]"],
        description="settings of runs, each with every combination of the grid",
    )
    cells: str | tuple[str, ...] = Field(
        default=(), description="what is trained: of a stage, best of a stage, best N of a stage, or a list"
    )
    stop: StopRule = StopRule()
    words: Settings = Field(default={}, description="of all runs, above all others; said behind the file")


class ExecutorChoice(Options):
    """Where the runs are done; the executor's own options stand beside its name."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(default="pool", description="here, pool, ray or slurm")

    @property
    def options(self) -> dict[str, Any]:
        """The executor's own options."""
        return dict(self.model_extra or {})


class SweepConfig(StageConfig):
    """Everything it takes to repeat a sweep."""

    kind: Literal["sweep"] = Field(default="sweep", description="what this is the configuration of")
    name: str | None = Field(default=None, description="of its directory; by default that of its file")
    tries: Number = Field(default=3, description="a run that has failed so often is given up")
    reports: bool = Field(default=False, description="write a report.html of every run that is finished")
    executor: Annotated[ExecutorChoice, BeforeValidator(_named)] = ExecutorChoice()
    stages: dict[str, StageConfig] = Field(default={}, description="several stages, by name, in their order")

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str | None) -> str | None:
        if name is not None and (name != Path(name).name or name in ("", "..") or not name.isprintable()):
            raise ValueError(f"expected the name of a folder such as methods, got {name!r}")
        return name

    @property
    def parts(self) -> dict[str, StageConfig]:
        """The stages by name, with the words of all; one of the kind's name where there are no several."""
        own = StageConfig.model_validate({key: getattr(self, key) for key in StageConfig.model_fields})
        return {name: self._with_words(stage) for name, stage in self.stages.items()} or {self.do: own}

    def _with_words(self, stage: StageConfig) -> StageConfig:
        return stage.model_copy(update={"words": overlaid(self.words, stage.words)})


SWEEP = ConfigLoader(SweepConfig, {}, "")
STAGE = ConfigLoader(StageConfig, {}, "")


def load_sweep(file: str | Path, words: Iterable[str] = (), flags: Layer | None = None) -> SweepConfig:
    """The sweep in a YAML file, with what is said besides.

    Args:
        file: The file.
        words: Each `key=value`: the sweep's own such as `tries=1` or `grid.seed=0..9`, settings of a stage
            such as `screen.epochs=50`, all others settings of every run; such settings win over the file's.
        flags: Values by key that win over the file's, and words over them.

    Raises:
        UnknownNameError: If there is no such setting.
        OptionError: If a value cannot be used; says which.
    """
    layer = read_file(Path(file))
    try:
        validate(layer)
    except DartboardError as error:
        raise OptionError(f"{file}: {error}") from None
    layer = _joined(layer, flags or {})
    for word in words:
        layer = _joined(layer, _from_word(word, layer.get("stages") or {}))
    config = validate(layer)
    if not any(getattr(config, key) for key in NEEDED):
        words = "a sweep has a grid such as {seed: 0..4}, runs, settings or stages"
        raise OptionError(f"{file} says nothing of its runs; {words}")
    return config


def validate(layer: Layer) -> SweepConfig:
    """The sweep that plain values say; raises as `load_sweep`."""
    stages = layer.get("stages") or {}
    if not isinstance(stages, Mapping):
        raise OptionError(
            f"stages={format_value(stages)}: expected a group such as {{search: {{do: search}}}}"
        )
    if stages and (wrong := [key for key in OUTSIDE if key in layer]):
        raise OptionError(f"{wrong[0]}: a sweep of several stages says it in each; move it into one of them")
    parts = {str(name): _stage(str(name), values) for name, values in stages.items()}
    config = SWEEP.validate({**layer, "stages": parts})
    for name, stage in config.parts.items():
        check_count(f"stages.{name}" if parts else "grid", count_points(stage.grid, stage.runs))
        _check_words(stage, f"stages.{name}." if parts else "")
    return config


def _check_words(stage: StageConfig, place: str) -> None:
    """Refuses words that would make the points of a stage alike."""
    grid = {
        name: key for key, values in stage.grid.items() for own in values for name in flattened({key: own})
    }
    for name in stage.words:
        short = name.removesuffix(".name")
        if name in grid:
            own = grid[name].removesuffix(".name")
            raise OptionError(f"{short} is in the grid; say {place}grid.{own}=...")
        if any(name in row for row in stage.runs):
            raise OptionError(f"{short} is in a row of {place}runs; change it there")


def _stage(name: str, values: object) -> StageConfig:
    if not LABEL.fullmatch(name) or name in TAKEN:
        words = f"a stage has letters, digits, - and _ in its name, and is not called {' or '.join(TAKEN)}"
        raise OptionError(f"stages.{name}: {words}")
    values = {} if values is None else values
    if not isinstance(values, Mapping):
        raise OptionError(f"stages.{name}={format_value(values)}: expected a group such as {{do: search}}")
    try:
        return STAGE.validate(values)
    except DartboardError as error:
        raise OptionError(f"stages.{name}: {error}") from None


def _from_word(word: str, stages: Mapping[str, Any]) -> dict[str, Any]:
    """The setting in a word, in its group."""
    first, dot, rest = word.partition(".")
    name = first.partition("=")[0]
    if name in SweepConfig.model_fields:
        return from_words([word])
    if dot and name in stages:
        return {"stages": {name: {"words": from_words([rest])}}}
    return {"words": from_words([word])}


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both groups in one; of equal keys the latter's counts."""
    found = dict(one)
    for key, value in other.items():
        inner = found.get(key)
        if key == "executor":
            found[key] = _other(_named(inner), _named(value))
        elif key in ("settings", "words") and isinstance(inner, Mapping):
            found[key] = overlaid(flattened(inner), flattened(value))
        elif key == "grid" and isinstance(inner, Mapping):
            found[key] = regridded(inner, value)
        elif isinstance(inner, Mapping) and isinstance(value, Mapping):
            found[key] = _joined(inner, value)
        else:
            found[key] = value
    return found


def _other(before: object, now: object) -> object:
    """An executor with options that are said later; another one leaves the options behind."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return now
    same = now.get("name", before.get("name")) == before.get("name", now.get("name"))
    return {**before, **now} if same else now


def plain(config: SweepConfig) -> dict[str, Any]:
    """The sweep as plain values, from which `validate` makes it again."""
    values = config.model_dump(mode="json", exclude_defaults=True)
    own = {"name": config.executor.name} | config.executor.options
    return {"kind": "sweep", **values, "executor": own}
