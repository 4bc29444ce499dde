"""Pictures of expert problems, of iterations against dimensions, and of the stationarity of a run."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from dartboard.viz.line_styles import line_styles
from dartboard_papers.theory.forecasters import Race
from dartboard_papers.theory.mirror_descent import Iterations
from dartboard_papers.theory.stationarity import Stationarity


def draw_race(found: Race) -> Figure:
    """Regret and correct selection against the number of experts, with XNAS' bound."""
    figure = Figure((10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys(own.forecaster for own in found.standings))
    for name, look in line_styles(names).items():
        each = [own for own in found.standings if own.forecaster == name]
        experts = [own.experts for own in each]
        style = {"color": look.color, "marker": look.marker, "linestyle": look.line, "label": name}
        left.errorbar(experts, [own.regret for own in each], yerr=[own.error or 0.0 for own in each], **style)
        if correct := [own.correct for own in each if own.correct is not None]:
            right.plot(experts, correct, **style)
    left.plot(list(found.bounds), list(found.bounds.values()), "--", color="0.5", label="XNAS' bound")
    left.set(xlabel="experts, N", ylabel="mean regret", yscale="log")
    right.set(xlabel="experts, N", ylabel="correct selection", ylim=(-0.02, 1.02))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    if not right.lines:
        right.text(0.5, 0.5, "no expert is the best", ha="center", transform=right.transAxes)
    left.legend(fontsize=8)
    return figure


def draw_iterations(found: Sequence[Iterations]) -> Figure:
    """Iterations against the dimension for each geometry, with its guarantee."""
    figure = Figure((6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="dimension of the simplex", ylabel="iterations", yscale="log")
    for name, look in line_styles(dict.fromkeys(own.geometry for own in found)).items():
        each = [own for own in found if own.geometry == name]
        sizes, steps = [own.dimension for own in each], [own.steps or float("nan") for own in each]
        axes.plot(sizes, steps, look.line, color=look.color, marker=look.marker, label=name)
        axes.plot(sizes, [own.guarantee for own in each], "--", color=look.color, label=f"{name}, guarantee")
    axes.set_xscale("log", base=2)
    axes.legend(fontsize=8)
    return figure


def draw_stationarity(found: Stationarity) -> Figure:
    """The stationarity of each edge at the end, and the movement of the strengths over the epochs."""
    figure = Figure((11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    place = 0
    for name, look in line_styles(found.edges).items():
        edges, moved = found.edges[name], found.movement.get(name, [])
        left.bar(range(place, place + len(edges)), edges, color=look.color, label=name)
        right.plot(range(1, len(moved) + 1), moved, look.line, color=look.color, marker=".", label=name)
        place += len(edges)
    left.set(xlabel="edge", ylabel=f"stationarity, lambda = {found.scale:g}")
    right.set(xlabel="epoch", ylabel="movement of the strengths since the last", ylim=(0, None))
    for axes in (left, right):
        axes.locator_params(axis="x", integer=True)
    left.legend(fontsize=8)
    return figure
