"""Searches over their epochs: entropy, accuracy, loss and whatever else was measured, and what went wrong."""

from collections.abc import Sequence
from dataclasses import replace

from dartboard.report.charts import (
    SEAMS,
    Chart,
    ChartLine,
    Quantity,
    bands_of,
    candidates_left,
    curve_of,
    discretization_gap,
    group_metric,
    lines_of,
    metric,
)
from dartboard.report.report_runs import Row, SearchRun
from dartboard.report.sections.base import ReportContext, Section, percent
from dartboard.viz.line_styles import COLORS

COMPARED: dict[str, tuple[Quantity, str, bool]] = {
    "Entropy": (metric("entropy"), "nats", False),
    "Supernet accuracy": (metric("valid_accuracy"), "held-out images", True),
    "Accuracy of the cell alone": (metric("discrete_accuracy"), "held-out images", True),
    "Training loss": (metric("train_loss"), "cross-entropy", False),
    "Experts alive": (candidates_left, "candidates", False),
}
"""Charts that compare several searches: the quantity, its axis, and whether it is a fraction."""
MAX_GROUPS = 4
"""With more decision groups than this, they have no lines of their own."""


def curves(context: ReportContext) -> Section | None:
    """Charts over epochs, of one search or of groups of them."""
    single, charts = context.single_search, []
    if single is not None:
        charts = [replace(chart, seams=single.info.seams) for chart in _search_charts(context, single)]
    else:
        groups = {label: [search.rows for search in group] for label, group in context.groups.items()}
        for name, (quantity, axis, is_fraction) in COMPARED.items():
            lines = bands_of(groups, quantity)
            if quantity is not candidates_left or any(min(line.y) < max(line.y) for line in lines):
                zero = axis in ("nats", "candidates")
                charts.append(Chart(name, lines, axis, percent=is_fraction, zero=zero))
    charts = [chart for chart in charts if chart.has_curve]
    if not charts:
        return None
    has_seams = any(chart.seams for chart in charts)
    has_bands = any(line.std for chart in charts for line in chart.lines)
    about = "Lines are means over seeds; bands reach one standard deviation to either side."
    about = SEAMS if has_seams else about if has_bands else ""
    return Section("curves", "Curves", "curves.html", about=about, charts=charts)


def _search_charts(context: ReportContext, search: SearchRun) -> list[Chart]:
    rows, groups = search.rows, list(search.space.cells)
    entropy: dict[str, Quantity] = {"mean": metric("entropy")}
    if 1 < len(groups) <= MAX_GROUPS:
        entropy |= {group: group_metric(group, "entropy") for group in groups}
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
    if 1 < len(groups) <= MAX_GROUPS:
        quantities = {group: group_metric(group, "alive") for group in groups}
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


def health(context: ReportContext) -> Section | None:
    """Warnings of all searches, each once, and the discretization gap."""
    if not any(search.last for search in context.searches):
        return None
    seeds: dict[tuple[str, str], dict[str, list[int]]] = {}  # by warning and time, then by label
    for label, group in context.groups.items():
        for search in group:
            for warning_and_time in _warning_epochs(search).items():
                seeds.setdefault(warning_and_time, {}).setdefault(label, []).append(search.seed)
    single, warnings = context.single_search, []
    for (warning, when), by_label in seeds.items():
        names = [  # such as `darts, seeds 0, 1`
            f"{label}, seed{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
            for label, numbers in by_label.items()
        ]
        warnings.append((f"{'; '.join(names)}: {when}" if single is None else when.capitalize(), warning))
    if single is not None:
        lines = lines_of(single.rows, {"gap": discretization_gap})
    else:
        groups = {label: [search.rows for search in group] for label, group in context.groups.items()}
        lines = bands_of(groups, discretization_gap)
    chart = Chart("Discretization gap", lines, "supernet less cell alone", percent=True, zero=True)
    values = {"warnings": warnings, "gap": "" if single is None else _gap_sentence(single)}
    return Section("health", "Health", "health.html", values, charts=[chart] if chart.has_curve else [])


def _warning_epochs(search: SearchRun) -> dict[str, str]:
    """For each warning, when it was given: `since epoch 3`, `in epochs 2 to 5`, `at the end`."""
    epochs: dict[str, list[int]] = {}
    for epoch in search.epochs:
        for warning in epoch.row.get("warnings", ()):
            epochs.setdefault(str(warning), []).append(epoch.epoch)
    last, times = search.epochs[-1].epoch if search.epochs else 0, {}
    for warning, (first, *later) in epochs.items():
        if not later:
            times[warning] = f"in epoch {first}"
        elif later[-1] == last:
            times[warning] = f"since epoch {first}"
        else:
            times[warning] = f"in epochs {first} to {later[-1]}"
    for warning in (search.result or {}).get("warnings", ()):
        if str(warning) not in times or times[str(warning)] == f"in epoch {last}":
            times[str(warning)] = "at the end"
    return times


def _gap_sentence(search: SearchRun) -> str:
    mixed, discrete = search.last.get("valid_accuracy"), search.last.get("discrete_accuracy")
    if mixed is None or discrete is None:
        return ""
    verb = "falls" if discrete < mixed else "goes"
    lost = f"{100 * (mixed - discrete):.1f}".replace("-", "\N{MINUS SIGN}")
    return (
        f"When the supernet keeps the chosen ops alone, its accuracy {verb} from {percent(mixed)} to "
        f"{percent(discrete)}: a gap of {lost} points. A network that is trained anew need not have it."
    )
