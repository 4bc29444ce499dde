"""What sections of a report are made from and turn into, and how they write numbers and times."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean, stdev
from typing import Any

from dartboard.report.charts import Chart
from dartboard.report.report_runs import Rank, ReportRuns, RunInfo, SearchRun, SpaceTables, TrainRun
from dartboard.space import Genotype
from dartboard.utils.statistics import mean_interval

DASH = "\N{EN DASH}"
"""Stands for a number that is not known."""

Formatter = Callable[[float], str]


@dataclass(frozen=True)
class ReportContext:
    """Runs, by label those searches that differ only in their seed, and tables that rank cells."""

    runs: ReportRuns
    groups: Mapping[str, Sequence[SearchRun]]
    tables: SpaceTables

    @property
    def searches(self) -> Sequence[SearchRun]:
        """All searches."""
        return self.runs.searches

    @property
    def single_search(self) -> SearchRun | None:
        """The search, if there is exactly one."""
        return self.searches[0] if len(self.searches) == 1 else None

    @property
    def names(self) -> dict[SearchRun, str]:
        """What each search is called: its label, and its seed if there are several searches."""
        return {
            search: label if len(self.searches) == 1 else f"{label}, seed {search.seed}"
            for label, group in self.groups.items()
            for search in group
        }

    def comparable_trainings(self, searches: Sequence[SearchRun]) -> list[TrainRun]:
        """The trainings of what searches chose that can be compared, each once."""
        genotypes = [search.genotype for search in searches]
        return [run for run in self.runs.comparable_trainings if run.genotype in genotypes]

    def rank(self, search: SearchRun) -> Rank | None:
        """The rank of a search's cell on the first data set of a table that has it."""
        return next(iter(self.tables.ranks(search)), None)


@dataclass(frozen=True)
class Section:
    """A part of a page, listed in its contents under its title, with an id for links.

    `template` is the file in `templates` that renders its body from `values` and `charts`; `about` is a
    sentence below the title.
    """

    ident: str
    title: str
    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    charts: Sequence[Chart] = ()


@dataclass(frozen=True)
class Badge:
    """A colored label with the state of a run, and a reason after it."""

    text: str
    color: str
    reason: str = ""


@dataclass(frozen=True)
class TableCell:
    """A cell of a table that is more than text: its style is `strong` or `sub`; badges replace the text."""

    text: str = ""
    style: str = ""
    badges: Sequence[Badge] = ()


@dataclass(frozen=True)
class DataTable:
    """A table that scrolls by itself where the page is narrow, with a caption for screen readers.

    The first `text_columns` columns are text; the others are numbers, aligned right.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | TableCell]]
    caption: str
    text_columns: int = 1


def state_badge(info: RunInfo, *, reason: bool = True) -> Badge:
    """The state of a run, and why its sweep does not continue with it if that is so."""
    if info.sweep_entry is None or not info.is_dropped:
        return Badge(info.state, info.state)
    return Badge(info.sweep_entry.state, "stopped", info.sweep_entry.reason if reason else "")


def genotype_text(genotype: Genotype | None) -> str | None:
    """A genotype in its shortest text form; None where there is none yet."""
    from dartboard.scoreboard.scored_search import shortest

    return None if genotype is None else shortest(genotype)


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction such as `91.3 %`; a dash where it is not known."""
    return DASH if fraction is None else f"{100 * fraction:.{digits}f} %"


def percent2(fraction: float | None) -> str:
    """A fraction with two digits, such as `91.34 %`."""
    return percent(fraction, 2)


def count_noun(count: int, noun: str) -> str:
    """Such as `1 epoch` or `3 epochs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_time(text: object) -> str:
    """A time of environment.json such as `16 Nov 2026, 09:59 UTC`; unchanged if it cannot be parsed."""
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return str(text)
    return f"{time.day} {time:%b %Y, %H:%M} {time.tzname() or ''}".strip()


def mean_and_std(numbers: Sequence[float | None], form: Formatter) -> str:
    """Such as `91.3 % ± 0.4`; a dash where nothing is known."""
    known = [number for number in numbers if number is not None]
    if not known:
        return DASH
    spread = f" \N{PLUS-MINUS SIGN} {form(stdev(known)).removesuffix(' %')}" if len(known) > 1 else ""
    return f"{form(fmean(known))}{spread}"


def confidence_interval(numbers: Sequence[float | None], form: Formatter) -> str:
    """The 95 % confidence interval of the mean, such as `90.9 to 91.7 %`; a dash for fewer than two."""
    ends = mean_interval([number for number in numbers if number is not None])
    return DASH if ends is None else f"{form(ends[0]).removesuffix(' %')} to {form(ends[1])}"
