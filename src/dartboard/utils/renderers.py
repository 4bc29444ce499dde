"""Renderers by name: they are above results in the order of imports, and are imported when needed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

RENDERERS = {
    "cells_html": "dartboard.viz.svg:cells_html",
    "cell_figure": "dartboard.viz.cells:cell_figure",
    "history_figure": "dartboard.viz.plots:plot_history",
    "report": "dartboard.report:write_report",
}
"""Module and function of each renderer."""


def find_renderer(name: str) -> Callable[..., Any]:
    """The function that renders something, such as the `report` of runs."""
    module, _, function = RENDERERS[name].partition(":")
    renderer: Callable[..., Any] = getattr(import_module(module), function)
    return renderer
