"""Entropy, accuracy, loss and what else was measured over the epochs of searches."""

from collections.abc import Mapping, Sequence

from dartboard.report.curves import (
    Chart,
    Line,
    Quantity,
    alive,
    bands_of,
    lines_of,
    metric,
    of_cell,
    rows_of,
    values,
)
from dartboard.report.html import tag
from dartboard.report.models import Row, SearchFound
from dartboard.report.sections.base import Context, Section

COMPARED: dict[str, tuple[Quantity, str, bool]] = {
    "Entropy": (metric("entropy"), "nats", False),
    "Supernet accuracy": (metric("valid_accuracy"), "held-out images", True),
    "Accuracy of the cell alone": (metric("discrete_accuracy"), "held-out images", True),
    "Training loss": (metric("train_loss"), "cross-entropy", False),
    "Experts alive": (alive, "candidates", False),
}
"""What several searches are compared by: the quantity, its axis, and whether it is a share."""
SHOWN = 4
"""Archs at most that have a line of their own."""


def curves(context: Context) -> Section | None:
    """Charts over epochs, of one search or of groups of them."""
    made = _single(context, context.alone) if context.alone is not None else _groups(context)
    charts = [own for own in made if any(len(line.x) > 1 for line in own.lines)]
    if not charts:
        return None
    words = "Lines are means over seeds; bands reach one standard deviation to either side."
    banded = any(line.spread for own in charts for line in own.lines)
    body = tag("div", *(own.html() for own in charts), class_="charts")
    return Section("curves", "Curves", body, words if banded else "")


def _single(context: Context, search: SearchFound) -> list[Chart]:
    rows = rows_of(search)
    archs = list(search.space.cells)
    entropy: dict[str, Quantity] = {"mean": metric("entropy")}
    if 1 < len(archs) <= SHOWN:
        entropy |= {arch: of_cell(arch, "entropy") for arch in archs}
    accuracy = {
        "supernet, held-out": metric("valid_accuracy"),
        "cell alone, held-out": metric("discrete_accuracy"),
        "supernet, training": metric("train_accuracy"),
    }
    loss = {"weights": metric("train_loss"), "architecture": metric("arch_loss")}
    return [
        Chart("Entropy", lines_of(rows, entropy), "nats", zero=True),
        Chart("Accuracy", lines_of(rows, accuracy), "of images", percent=True),
        Chart("Loss", lines_of(rows, loss), "cross-entropy"),
        *_experts(rows, archs),
        *_oracle(context, search),
        *_hessian(rows),
    ]


def _experts(rows: Sequence[Row], archs: Sequence[str]) -> list[Chart]:
    """The candidates that are left, where a method removes some."""
    known = values(rows, alive)[1]
    if not known or min(known) == max(known):
        return []
    parts: dict[str, Quantity] = {"all cells": alive}
    if 1 < len(archs) <= SHOWN:
        parts = {arch: of_cell(arch, "alive") for arch in archs}
    return [Chart("Experts alive", lines_of(rows, parts), "candidates", zero=True)]


def _oracle(context: Context, search: SearchFound) -> list[Chart]:
    """What a benchmark says of the cell that each epoch would have chosen."""
    told: dict[str, tuple[list[float], list[float]]] = {}
    for moment in search.moments:
        for rank in context.oracles.ranks(search, moment.genotype):
            x, y = told.setdefault(rank.dataset, ([], []))
            x.append(moment.epoch)
            y.append(rank.test)
    colours = lines_of([{"epoch": 0}] * len(told), {name: lambda _: 0.0 for name in told})
    lines = [Line(own.name, *told[own.name], own.colour) for own in colours]
    return (
        [Chart("Test accuracy that the oracle tells", lines, "of the epoch's cell", percent=True)]
        if lines
        else []
    )


def _hessian(rows: Sequence[Row]) -> list[Chart]:
    lines = lines_of(rows, {"largest eigenvalue": metric("hessian")})
    return [Chart("Curvature in the architecture", lines, "largest eigenvalue")] if lines else []


def _groups(context: Context) -> list[Chart]:
    groups: Mapping[str, Sequence[Sequence[Row]]] = {
        label: [rows_of(own) for own in group] for label, group in context.groups.items()
    }
    made = []
    for name, (of, axis, percent) in COMPARED.items():
        lines = bands_of(groups, of)
        if name == "Experts alive" and not any(min(own.y) < max(own.y) for own in lines):
            continue
        made.append(Chart(name, lines, axis, percent=percent, zero=axis in ("nats", "candidates")))
    return made
