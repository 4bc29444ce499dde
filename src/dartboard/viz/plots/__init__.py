"""Plots of plain numbers, one file per kind; `plot_*` returns a figure, `draw_*` draws into axes."""

from dartboard.viz.plots.accuracies import EdgeAccuracies, plot_accuracies, plot_stability
from dartboard.viz.plots.choices import HeatMap, plot_heat_maps, plot_margins, plot_op_counts
from dartboard.viz.plots.curves import (
    ReferenceCurve,
    band_note,
    draw_band,
    mark_epochs,
    plot_band_grid,
    plot_band_panels,
    plot_history,
    plot_regret,
)
from dartboard.viz.plots.landscape import Surfaces, plot_contours, plot_heat, plot_surfaces
from dartboard.viz.plots.lines import plot_line
from dartboard.viz.plots.shapes import ShapePanel, draw_bubbles, draw_stars, plot_shape_panels, plot_shapes
from dartboard.viz.plots.spectrum import plot_density

__all__ = [
    "EdgeAccuracies",
    "HeatMap",
    "ReferenceCurve",
    "ShapePanel",
    "Surfaces",
    "band_note",
    "draw_band",
    "draw_bubbles",
    "draw_stars",
    "mark_epochs",
    "plot_accuracies",
    "plot_band_grid",
    "plot_band_panels",
    "plot_contours",
    "plot_density",
    "plot_heat",
    "plot_heat_maps",
    "plot_history",
    "plot_line",
    "plot_margins",
    "plot_op_counts",
    "plot_regret",
    "plot_shape_panels",
    "plot_shapes",
    "plot_stability",
    "plot_surfaces",
]
