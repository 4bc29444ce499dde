"""Files of a reproduction: record, numbers, page and pictures."""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from pydantic import TypeAdapter, ValidationError

from dartboard import __version__
from dartboard.errors import RunError
from dartboard.scoreboard.records import STRICT, Amount, Whole, first_mistake
from dartboard.utils.atomic import write_text
from dartboard.utils.checksums import seal, unseal
from dartboard.utils.safe_files import read_file
from dartboard.utils.text import command
from dartboard.viz.figures import save_figure
from dartboard_papers.base import (
    PAPERS,
    REPRODUCTIONS,
    PartResult,
    Reproduction,
    ReproductionResult,
    Row,
    RunOptions,
    Scale,
    Verdict,
)
from dartboard_papers.formatting import (
    as_sentence,
    escape_cell,
    format_chance,
    format_seconds,
    format_seeds,
    format_setting,
    format_value,
)

OUTDATED = " by an earlier rule, to be run again"
"""Said of a verdict from before claims were judged in parts."""
RECORD, NUMBERS, PAGE = "record.json", "numbers.json", "page.md"
"""The files of a reproduction, beside its pictures."""


@dataclass(frozen=True)
class ReproductionRecord:
    """Result of a reproduction as record.json has it.

    Args:
        name: Name of the reproduction.
        verdict: Whether the paper's claim holds.
        sentence: Observations in one sentence.
        rows: Numbers of the paper beside those measured here.
        size: Description of network, images, epochs and the like.
        seeds: Number of repetitions behind each number; 0 if the computation is deterministic.
        seconds: Duration, including that of earlier runs that were resumed.
        scale: All settings of its scale.
        given: Data and table that it was run with, by their names alone.
        made: Versions and machine.
        remarks: Further sentences for the reader.
        pictures: Names of the pictures, without suffix.
        parts: Results of the parts of the claim, by name; empty if it cannot be tested, and in old records.
    """

    __pydantic_config__: ClassVar = STRICT

    name: str
    verdict: Verdict
    sentence: str
    rows: tuple[Row, ...]
    size: str
    seeds: Whole
    seconds: Amount
    scale: Mapping[str, Any]
    given: Mapping[str, str]
    made: Mapping[str, str]
    remarks: tuple[str, ...]
    pictures: tuple[str, ...]
    parts: Mapping[str, PartResult] = field(default_factory=dict)

    @property
    def is_outdated(self) -> bool:
        """Whether the verdict is by an earlier rule, from before claims were judged in parts."""
        return not self.parts and self.verdict is not Verdict.NOT_TESTABLE

    @property
    def reproduction(self) -> Reproduction[Any]:
        """The reproduction; raises UnknownNameError if it does not exist any more."""
        return REPRODUCTIONS[self.name]

    def markdown(self, pictures: str = "", numbers: str = "") -> str:
        """A section of a page: the claim, the verdict by parts, the numbers side by side and the pictures.

        Args:
            pictures: Prefix of the paths of the pictures; by default they are beside the page.
            numbers: Path of a page to name in the place of the numbers; empty shows them.
        """
        reproduction = self.reproduction
        table = ["| | paper | here |", "|---|---:|---:|"]
        for row in self.rows:
            cells = (row.what, format_value(row.paper), format_value(row.here))
            table.append(f"| {' | '.join(map(escape_cell, cells))} |")
        parts = [
            f"- {as_sentence(name)} Rule: {reproduction.rules[name].removesuffix('.')}; "
            f"{format_chance(part.chance)}. **{part.verdict.capitalize()}**: {part.observed}."
            for name, part in self.parts.items()
        ]
        lines = [
            f"**{PAPERS[reproduction.paper]}, {reproduction.part}**: {as_sentence(reproduction.about)}",
            f"The paper: {reproduction.claim.removesuffix('.')}.",
            f"Here: **{self.verdict}**{OUTDATED if self.is_outdated else ''}. {as_sentence(self.sentence)}",
            *(["\n".join(parts)] if parts else []),
            f"All numbers beside the paper's: `{numbers}`." if numbers else "\n".join(table),
            f"Size: {self.size}; {format_seeds(self.seeds)}; {format_seconds(self.seconds)}.",
            *([f"Unlike the paper: {reproduction.setup.removesuffix('.')}."] if reproduction.setup else []),
            f"```sh\n{self.command()}\n```",
            *([" ".join(map(as_sentence, self.remarks))] if self.remarks else []),
            *(f"![{escape_cell(reproduction.about)}]({pictures}{name}.png)" for name in self.pictures),
        ]
        return "\n\n".join(lines) + "\n"

    def command(self) -> str:
        """The command that repeats it, from the laptop's scale or the paper's, whichever is shorter."""
        reproduction = self.reproduction
        commands = [self._changed_settings(reproduction.laptop)]
        if reproduction.full is not None:
            commands.append(["--full", *self._changed_settings(reproduction.full)])
        inputs = [part for key, value in self.given.items() for part in (f"--{key}", value)]
        return command("reproduce", self.name, *inputs, *min(commands, key=len))

    def _changed_settings(self, base: Scale) -> list[str]:
        """The settings that differ from a scale, as they are typed."""
        defaults = base.model_dump(mode="json")
        missing = object()
        changed = {key: value for key, value in self.scale.items() if defaults.get(key, missing) != value}
        return [format_setting(key, value) for key, value in changed.items()]

    def facts(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        fields: dict[str, Any] = plain(asdict(self))
        return fields


def write_record(
    reproduction: Reproduction[Any],
    scale: Scale,
    options: RunOptions,
    result: ReproductionResult,
    seconds: float,
    folder: Path,
) -> ReproductionRecord:
    """Writes record, numbers, page and pictures of a reproduction to a folder; returns the record."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in result.figures.items():
        save_figure(figure, folder / name)
    inputs = {"data": options.data, "table": options.table}
    record = ReproductionRecord(
        name=reproduction.name,
        verdict=result.verdict,
        sentence=result.sentence,
        rows=tuple(Row(row.what, _plain_number(row.paper), _plain_number(row.here)) for row in result.rows),
        size=result.size,
        seeds=result.seeds,
        seconds=round(seconds, 1),
        scale=scale.model_dump(mode="json"),
        given={key: Path(value).name for key, value in inputs.items() if value is not None},
        made={
            "dartboard": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "device": str(options.device),
        },
        remarks=tuple(result.remarks),
        pictures=tuple(result.figures),
        parts=dict(result.parts),
    )
    write_text(folder / NUMBERS, json.dumps(plain(result.numbers)) + "\n")
    write_text(folder / PAGE, record.markdown())
    write_text(folder / RECORD, seal(json.dumps(record.facts(), indent=1, ensure_ascii=False)))
    return record


def _plain_number(value: float | str | None) -> float | str | None:
    """A Python float, or a text if it is not finite: JSON has no such numbers."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else str(number)


def plain(value: Any) -> Any:
    """A value for JSON: arrays as lists, and None for numbers that are not finite."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def read_record(folder: Path) -> ReproductionRecord:
    """The record in a folder that `write_record` wrote.

    Raises:
        RunError: If there is none, or it is damaged.
    """
    path = folder / RECORD
    try:
        return _reader().validate_json(unseal(read_file(path, root=folder), path))
    except OSError as error:
        raise RunError(f"no reproduction in {folder}: {error.strerror}") from None
    except ValidationError as error:
        raise RunError(f"{path} is damaged: {first_mistake(error)}; remove it, and do it anew") from None


@cache
def _reader() -> TypeAdapter[ReproductionRecord]:
    return TypeAdapter(ReproductionRecord)
