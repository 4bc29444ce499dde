"""Configuration of a sweep, from a file and words of the command line.

A sweep in YAML; what is left out has a default:

    do: search                                   # or train
    settings: {data: digits, epochs: 5}          # of all runs; nested, or dotted such as weights.lr
    grid: {method: [darts, gaea-darts], seed: 0..4}     # every combination; a..b is a range
    runs: [{weights.lr: 0.05}, {weights.lr: 0.1}]       # each with every combination of the grid
    words: {batch: 32}                           # settings that win over all others
    stop: {after: 2, keep: 5}                    # after 2 epochs the clearly bad are pruned

or, in several stages of which each takes the cells of one before it:

    stages:
      search: {do: search, grid: {seed: 0..9}}
      screen: {do: train, cells: search, stop: {after: 20}, settings: {seed: 10}}
      random: {do: train, cells: random within the time of screen, stop: {after: 20}, settings: {seed: 10}}
      final: {do: train, cells: best of screen, grid: {seed: 0..9}}
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
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
    parse_grid,
    parse_settings,
    regridded,
)
from dartboard.utils.yaml_text import format_value

LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""Names of stages are names of folders and parts of settings."""
RESERVED = ("images", "lock", "ray", "slurm", "stages")
"""Files and folders of a sweep, after which no stage can be named."""
PER_STAGE = ("do", "recipe", "grid", "runs", "cells", "cells_seed", "stop")
"""Settings that a sweep of several stages has in each of them."""
NEEDED = ("recipe", "settings", "grid", "runs", "cells", "words", "stages")
"""Settings of which a sweep has at least one; without them it would be one run with all defaults."""


def _parsed(parse: Callable[[Mapping[str, Any]], object], value: object) -> object:
    """A group, parsed; what is not a group is left for pydantic to refuse."""
    value = {} if value is None else value
    return parse(value) if isinstance(value, Mapping) else value


def _to_group(value: object) -> object:
    """A name alone as a group."""
    return {"name": value} if isinstance(value, str) else value


Number = Annotated[Count, Field(strict=True)]
"""A number of times; `true` is refused."""
Settings = Annotated[dict[str, Any], BeforeValidator(partial(_parsed, parse_settings))]
"""Settings by dotted name."""


class StopRule(Options):
    """When runs that are clearly worse than the best of their stage are pruned."""

    after: Annotated[
        tuple[Number, ...], BeforeValidator(lambda value: (value,) if isinstance(value, int) else value)
    ] = Field(
        default=(),
        examples=[5],
        description="epochs after which runs are compared: a number or a list; by default never",
    )
    keep: Number = Field(default=3, description="largest number of runs that continue")

    @field_validator("after")
    @classmethod
    def _check_order(cls, after: tuple[int, ...]) -> tuple[int, ...]:
        if any(first >= second for first, second in pairwise(after)):
            raise ValueError(f"expected epochs in rising order, such as [5, 20], got {list(after)}")
        return after


class StageConfig(Options):
    """A stage of a sweep: runs of one kind."""

    do: Literal["search", "train"] = Field(default="search", description="what each run is")
    recipe: str | None = Field(default=None, description="a recipe; all other settings override it")
    settings: Settings = Field(default={}, description="settings of all runs")
    grid: Annotated[dict[str, tuple[Any, ...]], BeforeValidator(partial(_parsed, parse_grid))] = Field(
        default={},
        examples=["{seed: 0..4}"],
        description="values by setting; every combination is a run",
    )
    runs: Annotated[tuple[Settings, ...], BeforeValidator(lambda value: () if value is None else value)] = (
        Field(
            default=(),
            examples=["[{epochs: 5}, {epochs: 10}]"],
            description="settings of runs, each with every combination of the grid",
        )
    )
    cells: str | tuple[str, ...] = Field(
        default=(),
        description="cells to train: STAGE, best of STAGE, best N of STAGE, random N of STAGE, "
        "random within the time of STAGE, or a list",
    )
    cells_seed: int = Field(default=0, ge=0, description="random seed of random cells")
    stop: StopRule = StopRule()
    words: Settings = Field(
        default={}, description="settings of all runs that override all others; those of the command line"
    )


STAGE_FIELDS = tuple(StageConfig.model_fields)


class ExecutorChoice(Options):
    """Where jobs run; the options of the executor are fields beside its name."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(default="pool", description="here, pool, ray or slurm")

    @property
    def options(self) -> dict[str, Any]:
        """The options of the executor."""
        return dict(self.model_extra or {})


class SweepConfig(StageConfig):
    """Configuration of a sweep: everything it takes to repeat it."""

    kind: Literal["sweep"] = Field(default="sweep", description="kind of configuration")
    name: str | None = Field(default=None, description="name of its directory; by default that of its file")
    tries: Number = Field(default=3, description="number of attempts after which a failing run is given up")
    reports: bool = Field(default=False, description="write a report.html for every finished run")
    executor: Annotated[ExecutorChoice, BeforeValidator(_to_group)] = ExecutorChoice()
    stages: dict[str, StageConfig] = Field(default={}, description="several stages, by name, in their order")

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str | None) -> str | None:
        if name is not None and (name != Path(name).name or name in ("", "..") or not name.isprintable()):
            raise ValueError(f"expected the name of a folder such as methods, got {name!r}")
        return name

    @property
    def parts(self) -> dict[str, StageConfig]:
        """The stages by name, with the words of the sweep; without stages, one named by its kind."""
        if not self.stages:
            return {self.do: StageConfig.model_validate({key: getattr(self, key) for key in STAGE_FIELDS})}
        return {
            name: stage.model_copy(update={"words": overlaid(self.words, stage.words)})
            for name, stage in self.stages.items()
        }


SWEEP = ConfigLoader(SweepConfig, {}, "")
STAGE = ConfigLoader(StageConfig, {}, "")


def load_sweep(
    file: str | Path, words: Iterable[str] = (), flags: Layer | None = None, *, root: Path | None = None
) -> SweepConfig:
    """The sweep in a YAML file, with flags and words that win over it.

    Args:
        file: The file.
        words: Each `key=value`: a setting of the sweep such as `tries=1` or `grid.seed=0..9`, of a stage such
            as `screen.epochs=50`, or else of every run; they win over the file and the flags.
        flags: Values by key that win over the file.
        root: The sweep that the file belongs to; None for a file that the user has named.

    Raises:
        UnknownNameError: If there is no such setting.
        OptionError: If a value cannot be used; says which.
    """
    layer = read_file(Path(file), root=root)
    try:
        validate(layer)
    except DartboardError as error:
        raise OptionError(f"{file}: {error}") from None
    layer = _merged(layer, flags or {})
    for word in words:
        first, dot, rest = word.partition(".")
        name = first.partition("=")[0]
        if name in SweepConfig.model_fields:
            layer = _merged(layer, from_words([word]))
        elif dot and name in (layer.get("stages") or {}):
            layer = _merged(layer, {"stages": {name: {"words": from_words([rest])}}})
        else:
            layer = _merged(layer, {"words": from_words([word])})
    config = validate(layer)
    if not any(getattr(config, key) for key in NEEDED):
        example = "a sweep has a grid such as {seed: 0..4}, runs, settings or stages"
        raise OptionError(f"{file} says nothing of its runs; {example}")
    return config


def validate(layer: Layer) -> SweepConfig:
    """The sweep in plain values; raises as `load_sweep`."""
    stages = layer.get("stages") or {}
    if not isinstance(stages, Mapping):
        raise OptionError(
            f"stages={format_value(stages)}: expected a group such as {{search: {{do: search}}}}"
        )
    if stages and (wrong := [key for key in PER_STAGE if key in layer]):
        raise OptionError(f"{wrong[0]}: a sweep of several stages says it in each; move it into one of them")
    parts = {str(name): _validate_stage(str(name), values) for name, values in stages.items()}
    config = SWEEP.validate({**layer, "stages": parts})
    for name, stage in config.parts.items():
        check_count(f"stages.{name}" if parts else "grid", count_points(stage.grid, stage.runs))
        _check_words(stage, f"stages.{name}." if parts else "")
    return config


def _check_words(stage: StageConfig, place: str) -> None:
    """Refuses words that would make the points of a stage alike."""
    grid = {
        name: key
        for key, values in stage.grid.items()
        for value in values
        for name in flattened({key: value})
    }
    for name in stage.words:
        short = name.removesuffix(".name")
        if name in grid:
            key = grid[name].removesuffix(".name")
            raise OptionError(f"{short} is in the grid; say {place}grid.{key}=...")
        if any(name in row for row in stage.runs):
            raise OptionError(f"{short} is in a row of {place}runs; change it there")


def _validate_stage(name: str, values: object) -> StageConfig:
    if not LABEL.fullmatch(name) or name in RESERVED:
        rule = f"a stage has letters, digits, - and _ in its name, and is not called {' or '.join(RESERVED)}"
        raise OptionError(f"stages.{name}: {rule}")
    values = {} if values is None else values
    if not isinstance(values, Mapping):
        raise OptionError(f"stages.{name}={format_value(values)}: expected a group such as {{do: search}}")
    try:
        return STAGE.validate(values)
    except DartboardError as error:
        raise OptionError(f"stages.{name}: {error}") from None


def _merged(base: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """Two layers of the configuration in one; values of `update` win."""
    merged = dict(base)
    for key, value in update.items():
        before = merged.get(key)
        if key == "executor":
            old, new = _to_group(before), _to_group(value)
            merged[key] = new
            if isinstance(old, Mapping) and isinstance(new, Mapping):
                same = new.get("name", old.get("name")) == old.get("name", new.get("name"))
                merged[key] = {**old, **new} if same else new  # another one does not take over options
        elif key in ("settings", "words") and isinstance(before, Mapping):
            merged[key] = overlaid(flattened(before), flattened(value))
        elif key == "grid" and isinstance(before, Mapping):
            merged[key] = regridded(before, value)
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


def plain(config: SweepConfig) -> dict[str, Any]:
    """The sweep as plain values, from which `validate` makes it again."""
    values = config.model_dump(mode="json", exclude_defaults=True)
    executor = {"name": config.executor.name} | config.executor.options
    return {"kind": "sweep", **values, "executor": executor}
