"""What is kept of a reproduction: its numbers beside the paper's, its pictures, and how it was done."""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from pydantic import TypeAdapter, ValidationError

from dartboard import __version__
from dartboard.errors import RunError
from dartboard.scoreboard.records import STRICT, Amount, Whole, first_mistake
from dartboard.utils.atomic import write_text
from dartboard.utils.text import command
from dartboard.viz.figures import save_figure
from dartboard_papers.base import PAPERS, REPRODUCTIONS, Finding, Reproduction, Row, Scale, Setting, Verdict
from dartboard_papers.words import cell, repeated, said, sentence, span, word

RECORD, NUMBERS, PAGE = "record.json", "numbers.json", "page.md"
"""The files of a reproduction, beside its pictures."""


@dataclass(frozen=True)
class Record:
    """A reproduction that was done.

    Args:
        name: Of the reproduction.
        verdict: Whether the paper's claim held.
        sentence: The same in one sentence.
        rows: The paper's numbers and those of here.
        size: In words, how large it was.
        seeds: Repetitions behind each number; 0 where nothing is left to chance.
        seconds: How long it took, over all times that it was gone on with.
        scale: All numbers that say how large it was.
        given: What it was given: images and tables, by their names alone.
        made: Versions and the machine.
        remarks: What a reader should know besides.
        pictures: Their names, without endings.
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

    @property
    def reproduction(self) -> Reproduction[Any]:
        """What it is a record of; raises UnknownNameError where there is no such reproduction any more."""
        return REPRODUCTIONS[self.name]

    def markdown(self, pictures: str = "") -> str:
        """A section of a page: the claim, the numbers side by side, the verdict and the pictures.

        Args:
            pictures: What stands before the names of the pictures; they are beside the page by default.
        """
        told = self.reproduction
        lines = [
            f"**{PAPERS[told.paper]}, {told.part}**: {sentence(told.about)}",
            f"The paper: {told.claim.removesuffix('.')}.",
            f"Here: **{self.verdict}**. {sentence(self.sentence)}",
            _table(self.rows),
            f"Size: {self.size}; {repeated(self.seeds)}; {span(self.seconds)}.",
            f"```sh\n{self.command()}\n```",
            *([" ".join(map(sentence, self.remarks))] if self.remarks else []),
            *(f"![{cell(told.about)}]({pictures}{name}.png)" for name in self.pictures),
        ]
        return "\n\n".join(lines) + "\n"

    def command(self) -> str:
        """What repeats it, from the laptop's numbers or the paper's, whichever takes fewer words."""
        told = self.reproduction
        laptop = [self._other(told.laptop)]
        full = [] if told.full is None else [["--full", *self._other(told.full)]]
        words = min([*laptop, *full], key=len)
        given = [part for key, value in self.given.items() for part in (f"--{key}", value)]
        return command("reproduce", self.name, *given, *words)

    def _other(self, base: Scale) -> list[str]:
        """What differs from these numbers, as it is typed."""
        usual = base.model_dump(mode="json")
        missing = object()
        return [word(key, own) for key, own in self.scale.items() if usual.get(key, missing) != own]

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        found: dict[str, Any] = plain(asdict(self))
        return found


def keep(
    told: Reproduction[Any], scale: Scale, setting: Setting, finding: Finding, seconds: float, folder: Path
) -> Record:
    """Writes what came of a reproduction: record, numbers, page and pictures; returns the record."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in finding.figures.items():
        save_figure(figure, folder / name)
    record = Record(
        name=told.name,
        verdict=finding.verdict,
        sentence=finding.sentence,
        rows=tuple(map(_finite, finding.rows)),
        size=finding.size,
        seeds=finding.seeds,
        seconds=round(seconds, 1),
        scale=scale.model_dump(mode="json"),
        given=_given(setting),
        made=_made(setting),
        remarks=tuple(finding.remarks),
        pictures=tuple(finding.figures),
    )
    write_text(folder / NUMBERS, json.dumps(plain(finding.numbers)) + "\n")
    write_text(folder / PAGE, record.markdown())
    write_text(folder / RECORD, json.dumps(record.facts(), indent=1, ensure_ascii=False) + "\n")
    return record


def _finite(row: Row) -> Row:
    """The row with plain numbers, those that are not finite in words: JSON knows none."""
    return Row(row.what, _number(row.paper), _number(row.here))


def _number(value: float | str | None) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _given(setting: Setting) -> dict[str, str]:
    asked = {"data": setting.data, "table": setting.table}
    return {key: Path(value).name for key, value in asked.items() if value is not None}


def _made(setting: Setting) -> dict[str, str]:
    return {
        "dartboard": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": str(setting.device),
    }


def plain(value: Any) -> Any:
    """The same for JSON: arrays as lists, and null for numbers that are not finite."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(own) for key, own in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(own) for own in value]
    return value


def read_record(folder: Path) -> Record:
    """The record in a folder that `keep` wrote.

    Raises:
        RunError: If there is none, or it is damaged.
    """
    path = folder / RECORD
    try:
        return _reader().validate_json(path.read_bytes())
    except OSError as error:
        raise RunError(f"no reproduction in {folder}: {error.strerror}") from None
    except ValidationError as error:
        raise RunError(f"{path} is damaged: {first_mistake(error)}; remove it, and do it anew") from None


@cache
def _reader() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


def _table(rows: Sequence[Row]) -> str:
    lines = [f"| {cell(row.what)} | {cell(said(row.paper))} | {cell(said(row.here))} |" for row in rows]
    return "\n".join(["| | paper | here |", "|---|---:|---:|", *lines])
