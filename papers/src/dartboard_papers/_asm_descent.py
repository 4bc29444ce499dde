"""Stochastic gradient descent on two problems, followed by the norm of the gradient (asm-nas 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.data.datasets.digits import load_digits
from dartboard.relax.attention import attention

BOWL, FARTHEST = 0.1, 7.0
"""Of the known problem: its curvature without waves, and how far from the optimum it starts."""
CANDIDATES, CLASSES, WIDTH = 3, 10, 12
"""Of the edge: candidates, classes, and inner width of the attention module."""


@dataclass(frozen=True)
class Path:
    """A descent.

    Args:
        steps: After how many steps it was looked at.
        squares: The squared norms of the gradient there, [steps, runs].
        losses: What was to be minimised, [steps, runs].
    """

    steps: list[int]
    squares: Tensor
    losses: Tensor

    def averages(self) -> Tensor:
        """The mean over runs and over all looks so far, the left side of inequality 4.22b, [steps]."""
        count = torch.arange(1, len(self.steps) + 1, dtype=self.squares.dtype)
        return self.squares.mean(1).cumsum(0) / count

    def floor(self) -> float:
        """The mean over the second half."""
        return self.squares[len(self.steps) // 2 :].mean().item()

    @property
    def gap(self) -> float:
        """The mean loss at the start; what is minimised is never below zero."""
        return self.losses[0].mean().item()


@dataclass(frozen=True)
class Constants:
    """Of the assumptions: gradients that do not point aside, mu = 1, with a noise of bounded variance.

    Args:
        smoothness: The Lipschitz constant of the gradient, L.
        noise: The variance of the stochastic gradient, M; it does not grow with the gradient, so M_G is 1.
    """

    smoothness: float
    noise: float

    @property
    def longest(self) -> float:
        """The largest step size that the statement allows, mu / (L M_G) (inequality 4.19)."""
        return 1 / self.smoothness

    def bound(self, lr: float, gap: float, steps: Tensor) -> Tensor:
        """The right side of inequality 4.22b after so many steps."""
        return lr * self.smoothness * self.noise + 2 * gap / (steps * lr)


@dataclass(frozen=True)
class Case:
    """Descents with one step size, beside what the statement says of them."""

    lr: float
    path: Path
    constants: Constants

    @property
    def allowed(self) -> bool:
        """Whether the statement speaks of this step size."""
        return self.lr <= self.constants.longest

    def bound(self) -> Tensor:
        """The right side after each look."""
        steps = torch.tensor(self.path.steps, dtype=torch.float64)
        return self.constants.bound(self.lr, self.path.gap, steps)

    def kept(self) -> float:
        """The share of looks at which the inequality holds, in percent."""
        return 100 * (self.path.averages() <= self.bound()).double().mean().item()

    def falls(self) -> bool:
        """Whether the mean at the end is below that after a tenth of the steps."""
        averages = self.path.averages()
        return bool(averages[-1] < averages[len(averages) // 10])


def waves(at: Tensor) -> Tensor:
    """The known problem: a bowl with waves, sum of x^2 / 20 + 1 - cos x, [...] from [..., D].

    Its second derivatives lie between -0.9 and 1.1, its minimum is 0 at 0, and it has other minima.
    """
    return (BOWL / 2 * at.square() + 1 - at.cos()).sum(-1)


def wave_slopes(at: Tensor) -> Tensor:
    """The gradient of `waves`."""
    return BOWL * at + at.sin()


def descend_waves(lr: float, noise: float, *, steps: int, runs: int, size: int, seed: int = 0) -> Path:
    """Descents on the known problem with normal noise of variance `noise`, looked at after every step."""
    generator = torch.Generator().manual_seed(seed)
    at = FARTHEST * (2 * torch.rand(runs, size, generator=generator, dtype=torch.float64) - 1)
    squares, losses = [], []
    for _ in range(steps):
        slope = wave_slopes(at)
        squares.append(slope.square().sum(-1))
        losses.append(waves(at))
        drawn = torch.randn(runs, size, generator=generator, dtype=torch.float64)
        at = at - lr * (slope + (noise / size) ** 0.5 * drawn)
    return Path(list(range(1, steps + 1)), torch.stack(squares), torch.stack(losses))


def known_constants(noise: float) -> Constants:
    """Those of the known problem."""
    return Constants(BOWL + 1, noise)


class Edge:
    """One edge of ASM-NAS that tells digits apart: three candidates, weighed by attention to their outputs.

    Args:
        examples: How many digits there are.
        seed: Of the weights at the start.
    """

    def __init__(self, examples: int, seed: int) -> None:
        digits = load_digits()
        x = digits.images[:examples].flatten(1).double()
        self.x = (x - x.mean()) / x.std()
        self.y = digits.labels[:examples].long()
        generator = torch.Generator().manual_seed(seed)

        def draw(rows: int, columns: int) -> Tensor:
            drawn = torch.randn(rows, columns, generator=generator, dtype=torch.float64)
            scaled: Tensor = drawn / columns**0.5
            return scaled.requires_grad_()

        maps = [draw(CLASSES, self.x.shape[1]) for _ in range(CANDIDATES)]
        sizes = (CANDIDATES, WIDTH, WIDTH, WIDTH, CANDIDATES)
        self.weights = maps + [draw(after, before) for before, after in pairwise(sizes)]

    def loss(self, places: Tensor | None = None) -> Tensor:
        """The mean loss of some examples, or of all."""
        x, y = (self.x, self.y) if places is None else (self.x[places], self.y[places])
        lines = [F.linear(x, own) for own in self.weights[:CANDIDATES]]
        outputs = [own[..., None, None] for own in (lines[0], lines[1].tanh(), lines[2].relu())]
        shares = attention(outputs, range(CANDIDATES), self.weights[CANDIDATES:])
        said = sum(
            share[:, None] * own.flatten(1) for share, own in zip(shares.unbind(-1), outputs, strict=True)
        )
        assert isinstance(said, Tensor)  # noqa: S101
        return F.cross_entropy(said, y)

    def slope(self, places: Tensor | None = None) -> Tensor:
        """The gradient, flat."""
        return _flat(torch.autograd.grad(self.loss(places), self.weights))

    def sharpness(self, rounds: int = 12) -> float:
        """The largest size of an eigenvalue of the Hessian, by power iteration."""
        slope = _flat(torch.autograd.grad(self.loss(), self.weights, create_graph=True))
        vector = torch.ones_like(slope) / len(slope) ** 0.5
        size = 0.0
        for _ in range(rounds):
            product = _flat(torch.autograd.grad(slope @ vector.detach(), self.weights, retain_graph=True))
            size = product.norm().item()
            vector = product / size
        return size

    def noise(self, batch: int, generator: torch.Generator, draws: int = 20) -> float:
        """The variance of the gradient of a batch, from some."""
        whole = self.slope()
        own = [self.slope(self.draw(batch, generator)) - whole for _ in range(draws)]
        return torch.stack([one.square().sum() for one in own]).mean().item()

    def draw(self, batch: int, generator: torch.Generator) -> Tensor:
        """Places of the examples of a batch, each drawn from all."""
        return torch.randint(len(self.y), (batch,), generator=generator)

    def move(self, lr: float, slope: Tensor) -> None:
        """A step of descent."""
        parts = slope.split([weight.numel() for weight in self.weights])
        with torch.no_grad():
            for weight, part in zip(self.weights, parts, strict=True):
                weight.sub_(lr * part.view_as(weight))


def _flat(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([part.flatten() for part in parts])


def descend_edge(
    lr: float, *, steps: int, every: int, batch: int, examples: int, seed: int
) -> tuple[Path, Constants]:
    """A descent of the edge, and constants that were met on its way: the largest sharpness and noise.

    The true constants are at least as large.
    """
    edge, generator = Edge(examples, seed), torch.Generator().manual_seed(seed)
    squares, losses, met = [], [], []
    looks = range(0, steps, every)
    for step in range(steps):
        if step in looks:
            squares.append(edge.slope().square().sum())
            losses.append(edge.loss().detach())
        if step % max(steps // 5, 1) == 0:
            met.append((edge.sharpness(), edge.noise(batch, generator)))
        edge.move(lr, edge.slope(edge.draw(batch, generator)))
    sharpness, noise = (max(own) for own in zip(*met, strict=True))
    path = Path([step + 1 for step in looks], torch.stack(squares)[:, None], torch.stack(losses)[:, None])
    return path, Constants(sharpness, noise)


def join(parts: Sequence[tuple[Path, Constants]]) -> tuple[Path, Constants]:
    """Descents of several seeds as one, with the largest constants of all."""
    paths, found = zip(*parts, strict=True)
    squares, losses = (torch.cat([getattr(own, key) for own in paths], 1) for key in ("squares", "losses"))
    constants = Constants(max(own.smoothness for own in found), max(own.noise for own in found))
    return Path(paths[0].steps, squares, losses), constants
