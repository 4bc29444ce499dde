"""What came out: the arms of protocols, the searches of a comparison, and networks trained from scratch."""

from collections.abc import Sequence
from dataclasses import replace

from dartboard.report.charts import DASHES, SEAMS, Chart, ChartLine, curve_of, lines_of, metric
from dartboard.report.report_runs import SearchRun, TrainRun
from dartboard.report.sections.base import (
    DASH,
    DataTable,
    ReportContext,
    Section,
    TableCell,
    confidence_interval,
    mean_and_std,
    percent,
    percent2,
    state_badge,
)
from dartboard.utils.text import span
from dartboard.viz.line_styles import line_styles

PROTOCOL_HEAD = ("", "networks", "seeds", "mean", "deviation", "parameters", "time")
INTERVAL = "95 % interval"
MAX_CLASSES = 200
"""More classes than this are not listed."""


def protocol(context: ReportContext) -> Section | None:
    """The arms of each protocol that is finished: found cells against random ones."""
    arms = []
    for run in context.runs.protocols:
        if run.result is None:
            continue
        rows = [
            [
                name,
                f"{len(arm['networks']):,}",
                f"{len(arm['finals']):,}",
                percent(arm["summary"]["mean"], 2),
                percent(arm["summary"]["deviation"], 2),
                f"{arm['parameters']:,}",
                span(arm["seconds"]["total"]),
            ]
            for name, arm in run.result["arms"].items()
        ]
        about = f"Accuracies are of {run.result['measured_on']} images, after the last epoch."
        arms.append((DataTable(PROTOCOL_HEAD, rows, f"Arms of {run.info.name}"), about))
    return Section("protocol", "Found against random", "protocol.html", {"arms": arms}) if arms else None


def scoreboard(context: ReportContext) -> Section | None:
    """The searches of a comparison: groups of seeds with means, and each run below its group."""
    if len(context.searches) < 2:
        return None
    has_ranks = any(context.rank(search) is not None for search in context.searches)
    has_trainings = bool(context.comparable_trainings(context.searches))
    head = ["", "state", "supernet", INTERVAL, "cell alone", "entropy", *["oracle test", "rank"] * has_ranks]
    head += ["trained", INTERVAL] * has_trainings + ["time"]
    rows: list[list[str | TableCell]] = []
    for label, group in context.groups.items():
        named = [(TableCell(label, "strong"), group)]
        if len(group) > 1:
            named += [(TableCell(f"seed {search.seed}", "sub"), [search]) for search in group]
        for name, searches in named:
            cells = _score_cells(context, searches, has_ranks=has_ranks, has_trainings=has_trainings)
            rows.append([name, *cells])
    table = DataTable(head, rows, "Searches and what they came to", text_columns=2)
    return Section("scoreboard", "Scoreboard", "table.html", {"table": table})


def _score_cells(
    context: ReportContext, group: Sequence[SearchRun], *, has_ranks: bool, has_trainings: bool
) -> list[str | TableCell]:
    """The cells of a row after its name; groups have means over the searches that were not pruned."""
    badges = [state_badge(search.info, reason=len(group) == 1) for search in group]
    if len(group) > 1:
        group = [search for search in group if not search.info.is_dropped]

    def last(key: str) -> list[float | None]:
        return [search.last.get(key) for search in group]

    cells: list[str | TableCell] = [
        TableCell(badges=list(dict.fromkeys(badges))),
        mean_and_std(last("valid_accuracy"), percent),
        confidence_interval(last("valid_accuracy"), percent),
        mean_and_std(last("discrete_accuracy"), percent),
        mean_and_std(last("entropy"), "{:.3f}".format),
    ]
    if has_ranks:
        ranks = [rank for search in group if (rank := context.rank(search)) is not None]
        places = [rank.rank for rank in ranks]
        text = f"{min(places):,}" if places else DASH
        if places and min(places) < max(places):
            text += f" to {max(places):,}"
        cells += [mean_and_std([rank.test for rank in ranks], percent2), text]
    if has_trainings:
        accuracies = [run.accuracy for run in context.comparable_trainings(group)]
        cells += [mean_and_std(accuracies, percent2), confidence_interval(accuracies, percent2)]
    seconds = [value for value in last("seconds") if value is not None]
    return [*cells, span(sum(seconds)) if seconds else DASH]


def trainings(context: ReportContext) -> Section | None:
    """The trainings: one with all its curves, of several a line each."""
    runs = context.runs.trainings
    if not runs:
        return None
    seams = runs[0].info.seams if len(runs) == 1 else []
    charts = _single_charts(runs[0]) if len(runs) == 1 else _comparison_charts(runs)
    split, classes = _class_accuracies(runs[0]) if len(runs) == 1 else ("", [])
    table = _results_table(runs) if context.searches or len(runs) > 1 else None
    return Section(
        "training",
        "Trained from scratch" if context.searches else "Training",
        "training.html",
        {"table": table, "split": split, "classes": classes},
        about=SEAMS if seams else "",
        charts=[replace(chart, seams=seams) for chart in charts if chart.has_curve],
    )


def _single_charts(run: TrainRun) -> list[Chart]:
    rows, split = run.rows, run.split
    accuracy = {f"{split} images": metric(f"{split}_accuracy"), "training images": metric("train_accuracy")}
    loss = {f"{split} images": metric(f"{split}_loss"), "training images": metric("train_loss")}
    return [
        Chart("Accuracy of the network", lines_of(rows, accuracy), "of images", percent=True),
        Chart("Loss of the network", lines_of(rows, loss), "cross-entropy"),
        Chart("Learning rate", lines_of(rows, {"learning rate": metric("lr")}), "learning rate", zero=True),
    ]


def _comparison_charts(runs: Sequence[TrainRun]) -> list[Chart]:
    labels = _run_labels(runs)
    styles = line_styles(labels)
    charts = []
    for title, key in (("Accuracy of the networks", "accuracy"), ("Loss of the networks", "loss")):
        lines = [
            ChartLine(
                label,
                *curve_of(run.rows, metric(f"{run.split}_{key}")),
                styles[label].color,
                DASHES[styles[label].line],
            )
            for label, run in zip(labels, runs, strict=True)
        ]
        measured = [line for line in lines if line.y]
        charts.append(Chart(title, measured, "held-out images", percent=key == "accuracy"))
    return charts


def _run_labels(runs: Sequence[TrainRun]) -> list[str]:
    """The names of run directories; with their parents where names are not unique."""
    names = [run.info.name for run in runs]
    if len(set(names)) == len(names):
        return names
    return ["/".join(run.info.path.parts[-3:]) for run in runs]


def _results_table(runs: Sequence[TrainRun]) -> DataTable:
    rows: list[list[str | TableCell]] = []
    for label, run in zip(_run_labels(runs), runs, strict=True):
        result = run.result or {}
        parameters = result.get("parameters")
        seconds = result.get("seconds", run.rows[-1]["seconds"] if run.rows else None)
        rows.append([
            label,
            TableCell(badges=[state_badge(run.info)]),
            f"{len(run.rows):,}",
            percent(run.accuracy, 2),
            run.final_split,
            DASH if parameters is None else f"{parameters:,}",
            DASH if seconds is None else span(seconds),
        ])  # fmt: skip
    head = ["run", "state", "epochs", "accuracy", "images", "parameters", "time"]
    return DataTable(head, rows, "Trainings and what they came to", text_columns=2)


def _class_accuracies(run: TrainRun) -> tuple[str, list[tuple[str, float | None]]]:
    """The split, and the final accuracy of each class; nothing where it is not known."""
    result = run.result or {}
    last, names = result.get("last") or {}, result.get("classes") or []
    split = next((split for split in ("test", "valid") if split in last), None)
    if split is None or not 1 < len(names) <= MAX_CLASSES:
        return "", []
    return split, list(zip(map(str, names), last[split]["per_class"], strict=True))
