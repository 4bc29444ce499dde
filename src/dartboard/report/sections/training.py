"""Networks trained from scratch: their curves, how good they are, class by class."""

from collections.abc import Sequence

from dartboard.report.curves import DASHES, Chart, Line, Quantity, lines_of, metric, rows_of
from dartboard.report.html import Html, join, tag
from dartboard.report.models import TrainFound
from dartboard.report.sections.base import Context, Section, badge, table
from dartboard.report.sections.headline import accuracy_of
from dartboard.report.words import percent
from dartboard.utils.text import span
from dartboard.viz.line_styles import line_styles

CLASSES = 200
"""More classes than this are not listed."""


def training(context: Context) -> Section | None:
    """The trainings, of one with all its curves, of several a line each."""
    found = context.material.trainings
    if not found:
        return None
    charts = _single(found[0]) if len(found) == 1 else _several(found)
    drawn = [own.html() for own in charts if any(len(line.x) > 1 for line in own.lines)]
    parts = [tag("div", *drawn, class_="charts")] if drawn else []
    if context.searches or len(found) > 1:
        parts.insert(0, _table(found))
    parts += [_classes(found[0])] if len(found) == 1 else []
    heading = "Training" if not context.searches else "Trained from scratch"
    return Section("training", heading, join(parts))


def _single(found: TrainFound) -> list[Chart]:
    rows, part = rows_of(found), found.part
    accuracy = {f"{part} images": metric(f"{part}_accuracy"), "training images": metric("train_accuracy")}
    loss = {f"{part} images": metric(f"{part}_loss"), "training images": metric("train_loss")}
    rate: dict[str, Quantity] = {"learning rate": metric("lr")}
    return [
        Chart("Accuracy of the network", lines_of(rows, accuracy), "of images", percent=True),
        Chart("Loss of the network", lines_of(rows, loss), "cross-entropy"),
        Chart("Learning rate", lines_of(rows, rate), "learning rate", zero=True),
    ]


def _several(found: Sequence[TrainFound]) -> list[Chart]:
    names = labels(found)
    look = line_styles(names)
    charts = []
    for title, key, share in (
        ("Accuracy of the networks", "accuracy", True),
        ("Loss of the networks", "loss", False),
    ):
        lines = [
            Line(name, *own.curve(f"{own.part}_{key}"), look[name].color, DASHES[look[name].line])
            for name, own in zip(names, found, strict=True)
        ]
        charts.append(Chart(title, [own for own in lines if own.y], "held-out images", percent=share))
    return charts


def labels(found: Sequence[TrainFound]) -> list[str]:
    """The names of trainings' directories; with those around them where they would be the same."""
    names = [own.origin.name for own in found]
    if len(set(names)) == len(names):
        return names
    return ["/".join(own.origin.path.parts[-3:]) for own in found]


def _table(found: Sequence[TrainFound]) -> Html:
    head = ["run", "state", "epochs", "accuracy", "images", "parameters", "time"]
    rows = []
    for name, own in zip(labels(found), found, strict=True):
        result = own.result or {}
        known = result.get("parameters")
        seconds = result.get("seconds", own.rows[-1]["seconds"] if own.rows else None)
        rows.append([
            name,
            badge(own.origin),
            f"{len(own.rows):,}",
            percent(accuracy_of(own), 2),
            own.measured_on,
            "\N{EN DASH}" if known is None else f"{known:,}",
            "\N{EN DASH}" if seconds is None else span(seconds),
        ])  # fmt: skip
    return table(head, rows, words=2, caption="Trainings and what they came to")


def _classes(found: TrainFound) -> Html:
    """How many images of each class are told rightly at the end."""
    result = found.result or {}
    last, names = result.get("last") or {}, result.get("classes") or []
    part = next((own for own in ("test", "valid") if own in last), None)
    if part is None or not 1 < len(names) <= CLASSES:
        return Html("")
    items = [
        tag(
            "li",
            tag("span", str(name), class_="name"),
            tag("span", tag("span", style=f"width: {100 * (share or 0.0):.1f}%"), class_="bar"),
            tag("span", percent(share), class_="number"),
        )
        for name, share in zip(names, last[part]["per_class"], strict=True)
    ]
    return join([
        tag("h3", f"Accuracy by class, {part} images"),
        tag("ul", *items, class_="classes"),
    ])  # fmt: skip
