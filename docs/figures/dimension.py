"""Mirror descent on the simplex: steps against the number of candidates (gaea.txt section 3.1).

    python docs/figures/dimension.py

A linear loss on the simplex with noisy gradients: every entry of a gradient is -1 or 1, with mean -0.25 in
the first place and 0 elsewhere. Counts the steps until the mean iterate is within 0.15 of the best, each
rule at the step size that theory gives it. The entropy's rule (exponentiated gradient) needs O(log k) steps,
the Euclidean one (projected gradient) O(k).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import nn

from dartboard.arch.optim import GEOMETRIES, MirrorDescent

ACCURACY, RUNS, SIZES = 0.15, 8, (2, 4, 8, 16, 32, 64, 128)
RULES = {"entropy": "exponentiated gradient", "euclidean-simplex": "projected gradient"}


def steps_needed(candidates: int, geometry: str) -> int:
    """Steps until the mean iterate, averaged over runs, is accurate enough."""
    generator = torch.Generator().manual_seed(0)
    theta = nn.Parameter(torch.full((RUNS, candidates), 1 / candidates, dtype=torch.float64))
    slope = torch.zeros(candidates, dtype=torch.float64)
    slope[0] = -0.25
    bound = GEOMETRIES[geometry].dual_norm(torch.ones(1, candidates)).item()
    optimizer = MirrorDescent([theta], ACCURACY / bound**2, geometry=geometry)
    total, step = torch.zeros_like(theta), 0
    while True:
        step += 1
        total += theta.detach()
        if ((total / step) @ slope - slope.min()).mean() <= ACCURACY:
            return step
        coins = torch.rand(RUNS, candidates, generator=generator, dtype=torch.float64) < (1 + slope) / 2
        theta.grad = coins.double() * 2 - 1
        optimizer.step()


def main() -> None:
    """Count, print and draw."""
    figure, panel = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for geometry, name in RULES.items():
        steps = [steps_needed(size, geometry) for size in SIZES]
        print(f"{name:24}", *(f"{size}: {count}" for size, count in zip(SIZES, steps, strict=True)), sep="  ")
        panel.loglog(SIZES, steps, marker="o", label=name)
    panel.set(xlabel="candidates k", ylabel="steps", xticks=SIZES, xticklabels=SIZES)
    panel.legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".svg"))


if __name__ == "__main__":
    main()
