"""The relaxations that ship with dartboard, each a short registered function.

All take the space and a generator for everything random: initial values and samples.
"""

from collections.abc import Callable

import torch

from dartboard.registry import Registry
from dartboard.relax import categorical
from dartboard.relax.attention import Attention
from dartboard.relax.base import Relaxation
from dartboard.relax.sampling import Gumbel, RandomArchitecture
from dartboard.space.spec import SearchSpace

RELAXATIONS: Registry[Callable[[SearchSpace, torch.Generator], Relaxation]] = Registry("relaxation")


@RELAXATIONS.register("softmax")
def softmax(space: SearchSpace, generator: torch.Generator) -> Relaxation:
    """Softmax over logits that start near zero (DARTS)."""
    return categorical.softmax(space, generator=generator)


@RELAXATIONS.register("softmax-edges")
def softmax_edges(space: SearchSpace, generator: torch.Generator) -> Relaxation:
    """Softmax over logits of ops and of the edges that enter a node (PC-DARTS)."""
    return categorical.softmax(space, edge_weights=True, generator=generator)


@RELAXATIONS.register("simplex")
def simplex(space: SearchSpace, _generator: torch.Generator) -> Relaxation:
    """Weights on the simplex themselves, equal at the start (GAEA, XNAS)."""
    return categorical.simplex(space)


@RELAXATIONS.register("simplex-edges")
def simplex_edges(space: SearchSpace, _generator: torch.Generator) -> Relaxation:
    """Weights of ops and of the edges that enter a node, on simplices (GAEA PC-DARTS)."""
    return categorical.simplex(space, edge_weights=True)


@RELAXATIONS.register("gumbel-softmax")
def gumbel_softmax(space: SearchSpace, generator: torch.Generator) -> Relaxation:
    """One op per edge, sampled from softmax weights, with straight-through gradients (GDAS)."""
    return Gumbel(categorical.softmax(space, generator=generator), generator=generator)


@RELAXATIONS.register("gumbel-simplex")
def gumbel_simplex(space: SearchSpace, generator: torch.Generator) -> Relaxation:
    """One op per edge, sampled from weights on the simplex, with straight-through gradients (GAEA GDAS)."""
    return Gumbel(categorical.simplex(space), generator=generator)


@RELAXATIONS.register("attention")
def attention(space: SearchSpace, generator: torch.Generator) -> Relaxation:
    """Attention over the outputs of the ops, for each example and slot (ASM-NAS)."""
    return Attention(space, generator=generator)


@RELAXATIONS.register("random")
def random(space: SearchSpace, generator: torch.Generator) -> Relaxation:
    """One architecture, each as likely as any other (random search with weight sharing)."""
    return RandomArchitecture(space, generator=generator)
