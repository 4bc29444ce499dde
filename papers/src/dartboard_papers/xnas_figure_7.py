"""XNAS figure 7: a quadratic loss on two axes, from equal weights, which the paper does not say but draws."""

import torch

from dartboard_papers._xnas_toys import (
    GD,
    RULES,
    XNAS,
    Steps,
    Trajectory,
    both,
    draw_plane,
    linear,
    numbers,
    quadratic,
)
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction

FURTHER, HARDER, BEHIND = "GD is attenuated further", "GD gets less far", "XNAS is nearer to the minimum"


def walk(scale: Steps) -> dict[str, Trajectory]:
    """The paths of both rules."""
    return both(quadratic, torch.zeros(2), scale)


@reproduction(
    "xnas-figure-7",
    about="two axes and the loss 0.5 (x - 1)^2 + 0.5 y^2, from equal weights",
    claim="where the loss curves, GD's gradients are attenuated further, which makes it even harder for GD "
    "to reach the minimum",
    rules={
        FURTHER: "the last term of GD is a smaller share of its first than with the linear loss of figure 4",
        HARDER: "GD ends at a smaller x than with the linear loss",
        BEHIND: "XNAS is nearer to the minimum than GD after every step",
    },
    setup="weights start equal, which the paper draws and does not say",
    minutes=0.1,
    laptop=Steps(),
)
def reproduce(options: RunOptions, scale: Steps) -> ReproductionResult:  # noqa: ARG001
    """Both paths, beside those with the linear loss of figure 4."""
    paths, straight = walk(scale), both(linear, torch.zeros(2), scale)
    shares = {rule: _share(paths[rule]) for rule in RULES}
    behind = bool((paths[XNAS].distance[1:] < paths[GD].distance[1:]).all())
    lower = paths[GD].points[-1, 0].item() < straight[GD].points[-1, 0].item()
    further = shares[GD] < _share(straight[GD])
    ends = {name: f"{path.points[-1, 0].item():.3f}" for name, path in paths.items()}
    return ReproductionResult(
        rows=[row for rule in RULES for row in _rows(rule, paths[rule], straight[rule])],
        parts={
            FURTHER: PartResult(further, f"{shares[GD]:.2f}, and {_share(straight[GD]):.2f} with -x", None),
            HARDER: PartResult(
                lower, f"x = {ends[GD]}, and {straight[GD].points[-1, 0].item():.3f} with -x", None
            ),
            BEHIND: PartResult(behind, f"x = {ends[XNAS]} and {ends[GD]} at the end", None),
        },
        sentence=f"After {scale.steps} steps GD is at x = {ends[GD]}, where the linear loss had "
        f"brought it to {straight[GD].points[-1, 0].item():.3f}; XNAS is at {ends[XNAS]}.",
        size=f"two axes, {scale.steps} steps with lr {scale.lr:g}",
        seeds=0,
        figures={"paths": draw_plane(paths, lambda x, y: 0.5 * (x - 1) ** 2 + 0.5 * y**2)},
        numbers=numbers(paths),
        remarks=["XNAS slows down as well where the loss curves: its terms are the slopes, which shrink."],
    )


def _share(path: Trajectory) -> float:
    """What the last term is of the first."""
    first, last = path.magnitude[[0, -1]].tolist()
    return float(last / first)


def _rows(rule: str, curved: Trajectory, straight: Trajectory) -> list[Row]:
    return [
        Row(f"{rule}, distance at the end", None, curved.distance[-1].item()),
        Row(f"{rule}, distance at the end with -x", None, straight.distance[-1].item()),
        Row(f"{rule}, last term / first term", "shrinks", _share(curved)),
        Row(
            f"{rule}, last term / first term with -x",
            "constant" if rule == XNAS else "shrinks",
            _share(straight),
        ),
    ]
