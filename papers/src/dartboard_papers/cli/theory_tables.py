"""What `analyse theory` prints for people: rows of words."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dartboard.cli.render import aligned

if TYPE_CHECKING:
    from dartboard_papers.theory.forecasters import Race
    from dartboard_papers.theory.linear_problems import Survey
    from dartboard_papers.theory.mirror_descent import Iterations
    from dartboard_papers.theory.stationarity import Stationarity

Rows = list[tuple[str, ...]]


def lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows with their columns below each other."""
    yield from ("  ".join(row).rstrip() for row in aligned(rows, len(rows[0])))


def cells_table(found: "Survey") -> Rows:
    """For each norm, how the cells compare, and what share of the narrowest's numbers is above each bound."""
    from dartboard_papers.theory.linear_pictures import SMOOTHNESS, VARIANCE

    rows: Rows = [("norm", "measured", "narrowest / widest", "above", "above", "")]
    for place, norm in enumerate(found.lengths):
        for what, names in (("smoothness", SMOOTHNESS), ("variance", VARIANCE)):
            wide, narrow, *_ = (found.stacked(own)[place] for own in names.values())
            ratio = f"{(narrow.sum(-1) / wide.sum(-1)).median().item():.3g}"
            _, measured, *bounds = names.values()
            shares = [found.broken(measured, own)[place].double().mean().item() for own in bounds]
            labels = ", ".join(list(names)[2:])
            rows.append((f"{norm:g}", what, ratio, *(f"{100 * own:.3g} %" for own in shares), labels))
    return rows


def race_table(found: "Race") -> Rows:
    """A row for each number of experts and each forecaster."""
    rows: Rows = [("experts", "forecaster", "rate", "regret", "", "correct", "bound")]
    for own in found.standings:
        regret, spread = f"{own.regret:.1f}", "" if own.error is None else f"+- {own.error:.2g}"
        correct = "-" if own.correct is None else f"{100 * own.correct:.1f} %"
        bound = f"{found.bounds[own.experts]:.1f}" if own.forecaster == "XNAS" else ""
        words = f"{own.lr:.3g}", regret, spread, correct, bound
        rows.append((str(own.experts), own.forecaster, *words))
    return rows


def iterations_table(found: "Sequence[Iterations]") -> Rows:
    """A row for each dimension and each geometry."""
    rows: Rows = [("dimension", "geometry", "iterations", "guarantee", "rate", "stationarity at the start")]
    for own in found:
        steps = "not in time" if own.steps is None else str(own.steps)
        rate = "-" if own.rate is None else f"{own.rate:.3g}"
        words = f"{own.guarantee:,.0f}", rate, f"{own.stationarity:.3g}"
        rows.append((str(own.dimension), own.geometry, steps, *words))
    return rows


def stationarity_table(found: "Stationarity") -> Rows:
    """The numbers of a run, one below the other."""
    rows: Rows = [
        ("loss", f"{found.loss:.4f}"),
        ("stationarity of the ops' weights", f"{found.proximal:.4g}"),
        ("the same with one mirror step", f"{found.step:.4g}"),
        ("squared gradient of the network", f"{found.weights:.4g}"),
    ]
    rows += [(f"{name}, the least stationary edge", f"{max(own):.4g}") for name, own in found.edges.items()]
    moved = {name: own[-1] for name, own in found.movement.items() if own}
    return rows + [(f"{name}, movement in the last epoch", f"{own:.4g}") for name, own in moved.items()]
