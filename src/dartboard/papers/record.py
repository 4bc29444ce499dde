"""What is kept of a reproduction: its numbers beside the paper's, its pictures, and how it was done."""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch

from dartboard import __version__
from dartboard.atomic import write_text
from dartboard.errors import RunError
from dartboard.papers.base import PAPERS, REPRODUCTIONS, Finding, Reproduction, Row, Scale, Setting, Verdict
from dartboard.pictures.saving import save_figure
from dartboard.printable import printable

RECORD, NUMBERS, PAGE = "record.json", "numbers.json", "page.md"
"""The files of a reproduction, beside its pictures."""
DASH = "-"


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

    name: str
    verdict: Verdict
    sentence: str
    rows: Sequence[Row]
    size: str
    seeds: int
    seconds: float
    scale: Mapping[str, Any]
    given: Mapping[str, str]
    made: Mapping[str, str]
    remarks: Sequence[str]
    pictures: Sequence[str]

    @property
    def reproduction(self) -> Reproduction[Any]:
        """What it is a record of."""
        return REPRODUCTIONS[self.name]

    def markdown(self, pictures: str = "") -> str:
        """A section of a page: the claim, the numbers side by side, the verdict and the pictures.

        Args:
            pictures: The folder of the pictures as seen from the page; they are beside it by default.
        """
        told, folder = self.reproduction, f"{pictures}/" if pictures else ""
        lines = [
            f"**{PAPERS[told.paper]}, {told.part}**: {told.about}.",
            f"The paper: {told.claim}",
            f"Here: **{self.verdict}**. {self.sentence}",
            _table(self.rows),
            f"{self.size}; {self._repeated()}; {_span(self.seconds)}. `{self.command()}`",
            *([" ".join(self.remarks)] if self.remarks else []),
            *(f"![{told.about}]({folder}{name}.png)" for name in self.pictures),
        ]
        return "\n\n".join(lines) + "\n"

    def command(self) -> str:
        """What repeats it."""
        told = self.reproduction
        usual, full = told.laptop.model_dump(mode="json"), False
        if told.full is not None and self.scale == told.full.model_dump(mode="json"):
            usual, full = dict(self.scale), True
        other = [f"{key}={json.dumps(value)}" for key, value in self.scale.items() if usual[key] != value]
        given = [f"--{key} {value}" for key, value in self.given.items()]
        return " ".join(["dartboard reproduce", self.name, *(["--full"] if full else []), *given, *other])

    def _repeated(self) -> str:
        if not self.seeds:
            return "nothing is left to chance"
        return "one seed" if self.seeds == 1 else f"{self.seeds:,} seeds"

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)


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
        rows=tuple(finding.rows),
        size=finding.size,
        seeds=finding.seeds,
        seconds=round(seconds, 1),
        scale=scale.model_dump(mode="json"),
        given=_given(setting),
        made=_made(setting),
        remarks=tuple(finding.remarks),
        pictures=tuple(finding.figures),
    )
    write_text(folder / NUMBERS, json.dumps(_plain(finding.numbers)) + "\n")
    write_text(folder / PAGE, record.markdown())
    write_text(folder / RECORD, json.dumps(_plain(record.facts()), indent=1, ensure_ascii=False) + "\n")
    return record


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


def _plain(value: Any) -> Any:
    """The same for JSON, which knows no numbers that are not finite: those are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, (list, tuple)) else value


def read_record(folder: Path) -> Record:
    """The record in a folder that `keep` wrote.

    Raises:
        RunError: If there is none, or it is damaged.
    """
    path = folder / RECORD
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(Row(**row) for row in values.pop("rows"))
        record = Record(rows=rows, verdict=Verdict(values.pop("verdict")), **values)
    except OSError as error:
        raise RunError(f"no reproduction in {folder}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = printable(str(error))
        raise RunError(f"{path} is damaged: {reason}; it has {_names()}") from None
    return record


def _names() -> str:
    return ", ".join(own.name for own in fields(Record))


def _table(rows: Sequence[Row]) -> str:
    lines = [f"| {_cell(row.what)} | {said(row.paper)} | {said(row.here)} |" for row in rows]
    return "\n".join(["| | paper | here |", "|---|---:|---:|", *lines])


def said(value: float | str | None) -> str:
    """A number of a row in words: four digits that count, or a dash where there is none."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return _cell(value)
    if isinstance(value, int) or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"
