"""Regularized evolution (Real et al. 2019)."""

from dartboard.errors import CompositionError
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.method import METHODS, Method
from dartboard.search.select import Evolve, Score


@METHODS.register("evolution")
def evolution(
    *, score: Score | None = None, population: int = 50, tournament: int = 10, cycles: int = 300
) -> Method:
    """Regularized evolution scored by a benchmark table; nothing is trained (Real et al. 2019)."""
    if score is None:
        raise CompositionError(
            "evolution needs an oracle: a function from genotypes to their accuracy; give it as score in "
            "Python, or with --plugin a file that registers a method with a score; dartboard bench has it "
            "beside every search"
        )
    select = Evolve(score, population, tournament, cycles)
    return Method(RELAXATIONS["random"], select=select, trains=False)
