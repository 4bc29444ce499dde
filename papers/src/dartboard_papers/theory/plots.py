"""Pictures of expert problems, of iterations against dimensions, and of the stationarity of a run."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from dartboard.viz.line_styles import line_styles
from dartboard_papers.theory.forecasters import Race
from dartboard_papers.theory.linear_problems import ROUNDING, Survey
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
    "theorem 4.3, same output": "variance_bound",
}


def draw_smoothness(found: Survey) -> Figure:
    """Constants of both cells, and those of the narrowest against what shall bound them."""
    return _draw(found, SMOOTHNESS, "block-wise Lipschitz constant")


def draw_variance(found: Survey) -> Figure:
    """Gradient variances of both cells, and those of the narrowest against what shall bound them."""
    return _draw(found, VARIANCE, "gradient variance")


def _draw(found: Survey, fields: dict[str, str], what: str) -> Figure:
    figure = Figure((13, 4), layout="constrained")
    left, *others = figure.subplots(1, 3)
    values = {name: found.stacked(field) for name, field in fields.items()}
    _draw_ratios(left, found, values["narrowest"] / values["widest"], what)
    for axes, name in zip(others, list(fields)[2:], strict=True):
        _draw_bound(axes, found, values["narrowest"], values[name])
        axes.set(xlabel=name, ylabel=f"{what} of the narrowest")
    return figure


def _draw_ratios(axes: Axes, found: Survey, ratios: Tensor, what: str) -> None:
    """Medians over problems, a line for each of the weights, [lengths, problems, n]."""
    names = [f"W{place + 1}" for place in range(ratios.shape[-1])]
    for place, (name, look) in enumerate(line_styles(names).items()):
        middle = ratios[..., place].median(1).values.numpy()
        axes.plot(found.lengths, middle, look.line, color=look.color, marker=look.marker, label=name)
    axes.axhline(1, color="0.6", linewidth=0.8)
    axes.set(xlabel="2-norm of every W", ylabel=f"{what}, narrowest / widest", yscale="log")
    axes.legend()


def _draw_bound(axes: Axes, found: Survey, measured: Tensor, bound: Tensor) -> None:
    """Each measured number against what shall be above it; what is over the line breaks the bound."""
    for place, (name, look) in enumerate(line_styles([f"norm {own:g}" for own in found.lengths]).items()):
        x, y = bound[place].flatten().numpy(), measured[place].flatten().numpy()
        axes.plot(x, y, look.marker, color=look.color, label=name, markersize=3, linestyle="none")
    low, high = min(measured.min().item(), bound.min().item()), max(measured.max().item(), bound.max().item())
    axes.plot([low, high], [low, high], "--", color="0.4", linewidth=1)
    axes.set(xscale="log", yscale="log")
    broken = (measured > bound * (1 + ROUNDING)).double().mean().item()
    axes.set_title(f"{100 * broken:.0f} % above the line", fontsize=10)
    axes.legend(fontsize=7)
