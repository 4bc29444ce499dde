"""Networks trained from scratch: curves, results, and accuracy by class."""

from collections.abc import Sequence

from dartboard.report.charts import DASHES, Chart, ChartLine, lines_of, metric
from dartboard.report.formatting import DASH, percent
from dartboard.report.models import TrainRun
from dartboard.report.sections.base import DataTable, ReportContext, Section, TableCell, state_badge
from dartboard.utils.text import span
from dartboard.viz.line_styles import line_styles

MAX_CLASSES = 200
"""More classes than this are not listed."""


def training(context: ReportContext) -> Section | None:
    """The trainings: one with all its curves, of several a line each."""
    runs = context.runs.trainings
    if not runs:
        return None
    charts = _single_charts(runs[0]) if len(runs) == 1 else _comparison_charts(runs)
    split, classes = _class_accuracies(runs[0]) if len(runs) == 1 else ("", [])
    table = _results_table(runs) if context.searches or len(runs) > 1 else None
    return Section(
        "training",
        "Trained from scratch" if context.searches else "Training",
        "training.html",
        {"table": table, "split": split, "classes": classes},
        charts=[chart for chart in charts if chart.has_curve],
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
    labels = run_labels(runs)
    styles = line_styles(labels)
    charts = []
    for title, key in (("Accuracy of the networks", "accuracy"), ("Loss of the networks", "loss")):
        lines = [
            ChartLine(
                label, *run.curve(f"{run.split}_{key}"), styles[label].color, DASHES[styles[label].line]
            )
            for label, run in zip(labels, runs, strict=True)
        ]
        measured = [line for line in lines if line.y]
        charts.append(Chart(title, measured, "held-out images", percent=key == "accuracy"))
    return charts


def run_labels(runs: Sequence[TrainRun]) -> list[str]:
    """The names of run directories; with their parents where names are not unique."""
    names = [run.info.name for run in runs]
    if len(set(names)) == len(names):
        return names
    return ["/".join(run.info.path.parts[-3:]) for run in runs]


def _results_table(runs: Sequence[TrainRun]) -> DataTable:
    rows: list[list[str | TableCell]] = []
    for label, run in zip(run_labels(runs), runs, strict=True):
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
