"""How often Amended DARTS' claim <g2', g2> >= 0 fails on random problems (amended-darts.txt A.5).

    python docs/figures/amended_sign.py

g2 = -M H^-1 s is the true term and g2' = -M H s what takes its place, for a random positive definite
Hessian H of the training loss, a random mixed block M [arch, weights] and a random slope s of the
validation loss.
"""

import torch

WEIGHTS, PROBLEMS, ARCHS = 6, 20_000, (1, 2, 4, 6, 12, 48)


def cosines(archs: int, generator: torch.Generator) -> torch.Tensor:
    """The cosine between g2' and g2 for each of many problems [P]."""
    draw = {"generator": generator, "dtype": torch.float64}
    root = torch.randn(PROBLEMS, WEIGHTS, WEIGHTS, **draw)
    hessian = root @ root.mT + 0.05 * torch.eye(WEIGHTS, dtype=torch.float64)
    mixed, slope = torch.randn(PROBLEMS, archs, WEIGHTS, **draw), torch.randn(PROBLEMS, WEIGHTS, 1, **draw)
    return torch.cosine_similarity(
        (mixed @ hessian @ slope).squeeze(-1), (mixed @ torch.linalg.solve(hessian, slope)).squeeze(-1)
    )


def main() -> None:
    """Count and print."""
    generator = torch.Generator().manual_seed(0)
    print(f"{PROBLEMS:,} problems with {WEIGHTS} weights each")
    for archs in ARCHS:
        found = cosines(archs, generator)
        print(
            f"{archs:3} arch parameters: {(found < 0).double().mean():.1%} negative, mean {found.mean():.2f}"
        )


if __name__ == "__main__":
    main()
