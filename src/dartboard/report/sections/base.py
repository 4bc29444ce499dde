"""What sections of a report are made from and turn into."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dartboard.report.charts import Chart
from dartboard.report.models import ReportRuns, RunInfo, SearchRun, TrainRun
from dartboard.report.ranks import Rank, SpaceTables
from dartboard.space import Genotype


@dataclass(frozen=True)
class ReportContext:
    """What a report is about.

    Args:
        runs: The runs.
        groups: By label, the searches that differ only in their seed.
        tables: Benchmark tables that rank cells.
        live: Whether the page will be written again.
    """

    runs: ReportRuns
    groups: Mapping[str, Sequence[SearchRun]]
    tables: SpaceTables
    live: bool = False

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
    """A part of a page with a title of its own.

    Args:
        ident: Its id, for links.
        title: Its heading, also in the list of contents.
        template: The file in `templates` that renders its body.
        values: What the template reads.
        about: A sentence below the title.
        charts: Charts that the template shows.
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
    """A cell of a table that is more than text.

    Args:
        text: The text.
        style: `strong` or `sub`.
        badges: Badges instead of a text.
    """

    text: str = ""
    style: str = ""
    badges: Sequence[Badge] = ()


@dataclass(frozen=True)
class DataTable:
    """A table that scrolls by itself where the page is narrow.

    Args:
        head: Names of the columns.
        rows: Their cells, in the order of `head`.
        caption: What the table shows, for screen readers.
        text_columns: How many columns from the left are text; the others are numbers, aligned right.
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
