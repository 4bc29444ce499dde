"""XNAS figure 4: the loss -x on two axes, from equal weights."""

import torch

from dartboard_papers._xnas_toys import GD, XNAS, Steps, Trajectory, both, draw_plane, linear, numbers
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction

REMARK = (
    "Section 8.2 says that the slopes along the axes are the negatives of one another; for -x that is so for "
    "GD alone, while XNAS' are -1 and 0."
)


SHRINK, CONSTANT, FASTER = "GD's gradients shrink", "XNAS' are constant", "XNAS is faster"


def walk(scale: Steps) -> dict[str, Trajectory]:
    """The paths of both rules."""
    return both(linear, torch.zeros(2), scale)


@reproduction(
    "xnas-figure-4",
    about="two axes and the loss -x, from equal weights",
    claim="although the slope of the loss is constant, GD's gradients shrink on the way; XNAS' are constant, "
    "and it reaches the minimum faster",
    rules={
        SHRINK: "the size of GD's term falls at every step",
        CONSTANT: "the size of XNAS' term is the same at every step",
        FASTER: "XNAS is nearer to the minimum after every step",
    },
    minutes=0.1,
    laptop=Steps(),
)
def reproduce(options: RunOptions, scale: Steps) -> ReproductionResult:  # noqa: ARG001
    """Both paths, their distances from the minimum and the sizes of their terms."""
    paths = walk(scale)
    shrink = bool((paths[GD].magnitude.diff() < 0).all())
    constant = len(set(paths[XNAS].magnitude.tolist())) == 1
    faster = bool((paths[XNAS].distance[1:] < paths[GD].distance[1:]).all())
    first, last = paths[GD].magnitude[[0, -1]].tolist()
    ends = {rule: path.points[-1, 0].item() for rule, path in paths.items()}
    return ReproductionResult(
        rows=[
            Row("size of XNAS' terms", "constant", paths[XNAS].magnitude[0].item()),
            Row("size of GD's first term", "shrinks", first),
            Row("size of GD's last term", "shrinks", last),
            Row("XNAS, distance at the end", "smaller", paths[XNAS].distance[-1].item()),
            Row(f"{GD}, distance at the end", "larger", paths[GD].distance[-1].item()),
        ],
        parts={
            SHRINK: PartResult(shrink, f"from {first:.3f} to {last:.3f}", None),
            CONSTANT: PartResult(constant, f"{paths[XNAS].magnitude[0]:g} at the first step", None),
            FASTER: PartResult(faster, f"x = {ends[XNAS]:.4f} and {ends[GD]:.4f} at the end", None),
        },
        sentence=f"After {scale.steps} steps XNAS is at x = {ends[XNAS]:.4f}, GD at {ends[GD]:.4f}; "
        f"GD's terms {'shrink' if shrink else 'do not shrink'} at every step, XNAS' are "
        f"{'constant' if constant else 'not constant'}.",
        size=f"two axes, {scale.steps} steps with lr {scale.lr:g}",
        seeds=0,
        figures={"paths": draw_plane(paths, lambda x, _: -x)},
        numbers=numbers(paths),
        remarks=[REMARK],
    )
