"""Entropy, accuracy, loss and whatever else was measured over the epochs of searches."""

from collections.abc import Sequence

from dartboard.report.charts import (
    Chart,
    ChartLine,
    Quantity,
    arch_metric,
    bands_of,
    candidates_left,
    curve_of,
    lines_of,
    metric,
)
from dartboard.report.models import Row, SearchRun
from dartboard.report.sections.base import ReportContext, Section
from dartboard.viz.line_styles import COLORS

COMPARED: dict[str, tuple[Quantity, str, bool]] = {
    "Entropy": (metric("entropy"), "nats", False),
    "Supernet accuracy": (metric("valid_accuracy"), "held-out images", True),
    "Accuracy of the cell alone": (metric("discrete_accuracy"), "held-out images", True),
    "Training loss": (metric("train_loss"), "cross-entropy", False),
    "Experts alive": (candidates_left, "candidates", False),
}
"""Charts that compare several searches: the quantity, its axis, and whether it is a fraction."""
MAX_ARCHS = 4
"""With more groups than this, they have no lines of their own."""


def curves(context: ReportContext) -> Section | None:
    """Charts over epochs, of one search or of groups of them."""
    single = context.single_search
    charts = _group_charts(context) if single is None else _search_charts(context, single)
    charts = [chart for chart in charts if chart.has_curve]
    if not charts:
        return None
    has_bands = any(line.std for chart in charts for line in chart.lines)
    about = "Lines are means over seeds; bands reach one standard deviation to either side."
    return Section("curves", "Curves", "curves.html", about=about if has_bands else "", charts=charts)


def _search_charts(context: ReportContext, search: SearchRun) -> list[Chart]:
    rows, groups = search.rows, list(search.space.cells)
    entropy: dict[str, Quantity] = {"mean": metric("entropy")}
    if 1 < len(groups) <= MAX_ARCHS:
        entropy |= {group: arch_metric(group, "entropy") for group in groups}
    accuracy = {
        "supernet, held-out": metric("valid_accuracy"),
        "cell alone, held-out": metric("discrete_accuracy"),
        "supernet, training": metric("train_accuracy"),
    }
    loss = {"weights": metric("train_loss"), "architecture": metric("arch_loss")}
    hessian = lines_of(rows, {"largest eigenvalue": metric("hessian")})
    return [
        Chart("Entropy", lines_of(rows, entropy), "nats", zero=True),
        Chart("Accuracy", lines_of(rows, accuracy), "of images", percent=True),
        Chart("Loss", lines_of(rows, loss), "cross-entropy"),
        Chart("Experts alive", _candidate_lines(rows, groups), "candidates", zero=True),
        Chart(
            "Test accuracy that the oracle tells",
            _table_lines(context, search),
            "of the epoch's cell",
            percent=True,
        ),
        Chart("Curvature in the architecture", hessian, "largest eigenvalue"),
    ]


def _candidate_lines(rows: Sequence[Row], groups: Sequence[str]) -> list[ChartLine]:
    """The candidates that are left; nothing where a method removes none."""
    counts = curve_of(rows, candidates_left)[1]
    if not counts or min(counts) == max(counts):
        return []
    quantities: dict[str, Quantity] = {"all cells": candidates_left}
    if 1 < len(groups) <= MAX_ARCHS:
        quantities = {group: arch_metric(group, "alive") for group in groups}
    return lines_of(rows, quantities)


def _table_lines(context: ReportContext, search: SearchRun) -> list[ChartLine]:
    """The accuracies in a benchmark table of the cells that each epoch would have chosen."""
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for epoch in search.epochs:
        for rank in context.tables.ranks(search, epoch.genotype):
            x, y = curves.setdefault(rank.dataset, ([], []))
            x.append(epoch.epoch)
            y.append(rank.test)
    return [
        ChartLine(name, x, y, COLORS[place % len(COLORS)])
        for place, (name, (x, y)) in enumerate(curves.items())
    ]


def _group_charts(context: ReportContext) -> list[Chart]:
    groups = {label: [search.rows for search in group] for label, group in context.groups.items()}
    charts = []
    for name, (quantity, axis, percent) in COMPARED.items():
        lines = bands_of(groups, quantity)
        if quantity is candidates_left and not any(min(line.y) < max(line.y) for line in lines):
            continue
        charts.append(Chart(name, lines, axis, percent=percent, zero=axis in ("nats", "candidates")))
    return charts
