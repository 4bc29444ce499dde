"""Pictures of linear cells beside the theorems' bounds."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from dartboard.viz.line_styles import line_styles
from dartboard_papers.theory.linear_problems import ROUNDING, Survey

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
