"""The result of a bench: its scoreboard, from its records and its baselines, with tables and plots."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from dartboard.scoreboard.baselines import (
    Baseline,
    mean_cell,
    queries_for,
    random_references,
    run_baseline,
)
from dartboard.scoreboard.bench import oracle_name, plan_jobs
from dartboard.scoreboard.config import BenchConfig
from dartboard.scoreboard.records import BenchRecord, find_record, read_records
from dartboard.scoreboard.scoreboard import RANDOM, Scoreboard, make_scoreboard
from dartboard.tables import Table
from dartboard.utils.atomic import write_text
from dartboard.viz.band import Band
from dartboard.viz.figures import save_figure
from dartboard.viz.plots import ReferenceCurve, plot_accuracies, plot_regret
from dartboard.viz.plots.curves import Unit


@dataclass(frozen=True)
class BenchResult:
    """The result of a bench.

    Args:
        table: The scoreboard.
        records: The records of its searches, by method.
        baselines: The results of the baselines.
    """

    table: Scoreboard
    records: tuple[BenchRecord, ...]
    baselines: tuple[Baseline, ...]

    def write(self, folder: Path, table: Table) -> list[Path]:
        """Writes tables and plots into a folder, which is created if need be, and returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        facts = json.dumps(self.table.facts(), indent=1)
        texts = {"md": self.table.markdown(), "csv": self.table.csv(), "json": facts + "\n"}
        for ending, text in texts.items():
            write_text(folder / f"table.{ending}", text)
        tables = [folder / f"table.{ending}" for ending in texts]
        return [*tables, *draw_plots(self.records, table, folder, self.baselines)]


def score_bench(config: BenchConfig, folder: Path, table: Table) -> BenchResult:
    """The result of a bench from the records in a folder; the bench says which are expected.

    Raises:
        TableError: If a record is of other settings, or the budget of the baselines is unknown.
    """
    jobs = sorted(plan_jobs(config), key=lambda job: list(config.methods).index(job.label))
    name = oracle_name(config)
    records = tuple(record for job in jobs if (record := find_record(job, folder, name)) is not None)
    baselines = tuple(run_baselines(config, records, table))
    expected = dict.fromkeys(config.methods, config.seeds)
    return BenchResult(make_scoreboard(expected, read_records(folder), table, baselines), records, baselines)


def run_baselines(config: BenchConfig, records: Sequence[BenchRecord], table: Table) -> list[Baseline]:
    """Results of the baselines with the budget of the mean search; none as long as no search is finished.

    With random among them, what random means with other budgets follows.
    """
    seconds = [record.final.seconds for record in records if record.final.seconds is not None]
    if config.queries is None and (not seconds or not config.baselines):
        return []
    queries = config.queries or queries_for(fmean(seconds), table)
    baselines = [run_baseline(name, table, queries, config.draws) for name in config.baselines]
    return [*baselines, *(random_references(table, config.draws) if RANDOM in config.baselines else ())]


def check_queries(config: BenchConfig, table: Table) -> None:
    """Raises TableError, which says what to set, if the budget of the baselines would be unknown."""
    if config.baselines and config.queries is None:
        queries_for(1.0, table)


def draw_plots(
    records: Sequence[BenchRecord], table: Table, folder: Path, baselines: Sequence[Baseline] = ()
) -> list[Path]:
    """Draws all plots, each as SVG and as PNG, and returns their paths; none without records.

    `regret-epochs` and, where seconds are known, `regret-seconds` show the regret while searching,
    `final-cells` the test accuracies of the final cells.

    Args:
        records: Records of searches; methods are drawn in their order.
        table: The benchmark table; plots are of its first data set.
        folder: Folder of the plots, which exists.
        baselines: The one called `random` is drawn beside the methods; without it, a single random cell is.
    """
    if not records:
        return []
    dataset = table.datasets[0]
    labels = dict.fromkeys(record.label for record in records)
    groups = {label: [record for record in records if record.label == label] for label in labels}
    random = next((item for item in baselines if item.label == RANDOM), None) or mean_cell(table)
    text = f"random, best of {random.queries:,}" if random.queries > 1 else "random, one cell"
    reference = ReferenceCurve(text, random.regrets, random.seconds)
    epochs = {label: regret_band(group, dataset, "epochs") for label, group in groups.items()}
    figures = {"regret-epochs": plot_regret(epochs, "epochs", dataset, reference)}
    seconds = {label: regret_band(group, dataset, "seconds") for label, group in groups.items()}
    if any(seconds.values()):
        figures["regret-seconds"] = plot_regret(seconds, "seconds", dataset, reference)
    finals = {label: [record.final.test[dataset] for record in group] for label, group in groups.items()}
    figures["final-cells"] = plot_accuracies(finals, dataset, table.ranking(dataset).tests)
    return [path for name, figure in figures.items() for path in save_figure(figure, folder / name)]


def regret_band(records: Sequence[BenchRecord], dataset: str, unit: Unit) -> Band | None:
    """Regret against completed epochs or seconds, over searches; None if no record knows these.

    It begins where all searches have begun; one that has ended keeps its last value. The last point of a
    search is its final cell, which may differ from the last epoch's.
    """
    curves = []
    for record in records:
        points = [*(point for point in record.points if point.epoch < record.final.epoch), record.final]
        places = [float(point.epoch) if unit == "epochs" else point.seconds for point in points]
        if None not in places:
            regrets = [record.best[dataset] - point.test[dataset] for point in points]
            curves.append((np.array(places, dtype=np.float64), np.array(regrets)))
    if not curves:
        return None
    start = max(x[0] for x, _ in curves)
    grid = np.unique(np.concatenate([x for x, _ in curves]))
    grid = grid[grid >= start]
    values = np.array([y[np.searchsorted(x, grid, side="right") - 1] for x, y in curves])
    std = values.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(grid)
    return Band(grid, values.mean(axis=0), std)
