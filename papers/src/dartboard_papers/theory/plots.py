"""Figures of the theory studies: expert problems, iterations, stationarity, linear cells."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from dartboard.viz.line_styles import line_styles
from dartboard_papers.theory.forecasters import Race
from dartboard_papers.theory.linear_problems import ROUNDING, Survey
from dartboard_papers.theory.mirror_descent import Iterations
from dartboard_papers.theory.stationarity import Stationarity


def draw_race(race: Race) -> Figure:
    """Regret and correct selection against the number of experts, with XNAS' bound."""
    figure = Figure((10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(dict.fromkeys(standing.forecaster for standing in race.standings))
    for name, style in line_styles(names).items():
        group = [standing for standing in race.standings if standing.forecaster == name]
        experts = [standing.experts for standing in group]
        line = {"color": style.color, "marker": style.marker, "linestyle": style.line, "label": name}
        left.errorbar(
            experts,
            [standing.regret for standing in group],
            yerr=[standing.error or 0.0 for standing in group],
            **line,
        )
        if correct := [standing.correct for standing in group if standing.correct is not None]:
            right.plot(experts, correct, **line)
    left.plot(list(race.bounds), list(race.bounds.values()), "--", color="0.5", label="XNAS' bound")
    left.set(xlabel="experts, N", ylabel="mean regret", yscale="log")
    right.set(xlabel="experts, N", ylabel="correct selection", ylim=(-0.02, 1.02))
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    if not right.lines:
        right.text(0.5, 0.5, "no expert is the best", ha="center", transform=right.transAxes)
    left.legend(fontsize=8, title="bars: mean +- 1 standard error over runs", title_fontsize=8)
    return figure


def draw_iterations(counts: Sequence[Iterations]) -> Figure:
    """Iterations against the dimension for each geometry, with its guarantee."""
    figure = Figure((6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="dimension of the simplex", ylabel="iterations", yscale="log")
    for name, style in line_styles(dict.fromkeys(count.geometry for count in counts)).items():
        group = [count for count in counts if count.geometry == name]
        sizes, steps = [count.dimension for count in group], [count.steps or float("nan") for count in group]
        axes.plot(sizes, steps, style.line, color=style.color, marker=style.marker, label=name)
        axes.plot(
            sizes, [count.guarantee for count in group], "--", color=style.color, label=f"{name}, guarantee"
        )
    axes.set_xscale("log", base=2)
    axes.legend(fontsize=8)
    return figure


def draw_stationarity(measured: Stationarity) -> Figure:
    """The stationarity of each edge at the end, and the movement of the strengths over the epochs."""
    figure = Figure((11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    place = 0
    for name, style in line_styles(measured.edges).items():
        edges, moved = measured.edges[name], measured.movement.get(name, [])
        left.bar(range(place, place + len(edges)), edges, color=style.color, label=name)
        right.plot(range(1, len(moved) + 1), moved, style.line, color=style.color, marker=".", label=name)
        place += len(edges)
    left.set(xlabel="edge", ylabel=f"stationarity, lambda = {measured.scale:g}")
    right.set(xlabel="epoch", ylabel="movement of the strengths since the last", ylim=(0, None))
    for axes in (left, right):
        axes.locator_params(axis="x", integer=True)
    left.legend(fontsize=8)
    return figure


SMOOTHNESS = {
    "widest": "smooth_widest",
    "narrowest": "smooth_narrowest",
    "what theorem 4.2 claims": "smooth_claimed",
    "bound for convex losses": "smooth_bound",
}
VARIANCE = {
    "widest": "variance_widest",
    "narrowest": "variance_narrowest",
    "theorem 4.3, same weights": "variance_same",
    "theorem 4.3, products of weights": "variance_bound",
}


def draw_smoothness(survey: Survey) -> Figure:
    """Constants of both cells, and those of the narrowest against what shall bound them."""
    return _draw(survey, SMOOTHNESS, "block-wise Lipschitz constant")


def draw_variance(survey: Survey) -> Figure:
    """Gradient variances of both cells, and those of the narrowest against what shall bound them."""
    return _draw(survey, VARIANCE, "gradient variance")


def _draw(survey: Survey, fields: dict[str, str], what: str) -> Figure:
    figure = Figure((13, 4), layout="constrained")
    left, *others = figure.subplots(1, 3)
    values = {name: survey.stacked(field) for name, field in fields.items()}
    ratios = values["narrowest"] / values["widest"]  # [lengths, problems, n]
    names = [f"W{index + 1}" for index in range(ratios.shape[-1])]
    for index, (name, style) in enumerate(line_styles(names).items()):
        middle = ratios[..., index].median(1).values.numpy()
        left.plot(survey.lengths, middle, style.line, color=style.color, marker=style.marker, label=name)
    left.axhline(1, color="0.6", linewidth=0.8)
    left.set(xlabel="2-norm of every W", ylabel=f"{what}, narrowest / widest", yscale="log")
    left.legend()
    for axes, name in zip(others, list(fields)[2:], strict=True):
        _draw_bound(axes, survey, values["narrowest"], values[name])
        axes.set(xlabel=name, ylabel=f"{what} of the narrowest")
    return figure


def _draw_bound(axes: Axes, survey: Survey, measured: Tensor, bound: Tensor) -> None:
    """Each measured number against its bound; points above the line break it."""
    for index, (name, style) in enumerate(
        line_styles([f"norm {length:g}" for length in survey.lengths]).items()
    ):
        x, y = bound[index].flatten().numpy(), measured[index].flatten().numpy()
        axes.plot(x, y, style.marker, color=style.color, label=name, markersize=3, linestyle="none")
    low, high = min(measured.min().item(), bound.min().item()), max(measured.max().item(), bound.max().item())
    axes.plot([low, high], [low, high], "--", color="0.4", linewidth=1)
    axes.set(xscale="log", yscale="log")
    broken = (measured > bound * (1 + ROUNDING)).double().mean().item()
    axes.set_title(f"{100 * broken:.0f} % above the line", fontsize=10)
    axes.legend(fontsize=7)
