"""The methods that ship with dartboard, each a short registered function that returns a composition.

Keyword arguments are options; their defaults are the papers'. See `Method` for what the parts are.
"""

from typing import Literal

from dartboard.arch.gradient import Amended, ClippedRewards, FirstOrder, SecondOrder
from dartboard.arch.hvp import Exact, Finite, HessianProducts
from dartboard.errors import CompositionError
from dartboard.relax import categorical
from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.hooks import Temperature, Wipeout
from dartboard.search.method import METHODS, Method
from dartboard.search.select import BestOfSamples, CellByCell, DrawOne, Evolve, FromStrengths, Score
from dartboard.search.updates import adam, expert_advice, exponentiated_gradient

ProductsName = Literal["exact", "finite"]
FLOOR = 1e-5
"""Where samples are drawn from weights on the simplex: their gradient is divided by the weight."""


def products(name: ProductsName, radius: float) -> HessianProducts:
    """How second derivatives are multiplied: by double backward, or by finite differences."""
    return Exact() if name == "exact" else Finite(radius)


@METHODS.register("darts")
def darts(
    *, bilevel: bool = True, joint: bool = False, lr: float = 3e-4, weight_decay: float = 1e-3
) -> Method:
    """DARTS, first order: softmax weights moved by Adam (Liu et al. 2019)."""
    update = adam(lr, weight_decay)
    return Method(RELAXATIONS["softmax"], FirstOrder(), update, bilevel=bilevel, joint=joint)


@METHODS.register("darts-2nd")
def darts_2nd(
    *, lr: float = 3e-4, weight_decay: float = 1e-3, product: ProductsName = "exact", radius: float = 0.01
) -> Method:
    """DARTS, second order: the gradient after a virtual step of the weights (Liu et al. 2019)."""
    gradient = SecondOrder(products(product, radius))
    return Method(RELAXATIONS["softmax"], gradient, adam(lr, weight_decay), bilevel=True)


@METHODS.register("gdas")
def gdas(
    *, bilevel: bool = True, joint: bool = False, lr: float = 3e-4, weight_decay: float = 1e-3,
    start: float = 10.0, end: float = 0.1,
) -> Method:  # fmt: skip
    """GDAS: one op an edge runs, drawn by Gumbel noise that cools down (Dong & Yang 2019)."""
    parts = RELAXATIONS["gumbel-softmax"], FirstOrder(), adam(lr, weight_decay)
    return Method(*parts, bilevel=bilevel, joint=joint, hooks=(Temperature(start, end),))


@METHODS.register("pc-darts")
def pc_darts(
    *, bilevel: bool = True, joint: bool = False, lr: float = 6e-4, weight_decay: float = 1e-3,
    partial: int = 4, warmup: int = 15,
) -> Method:  # fmt: skip
    """PC-DARTS: a quarter of the channels, and weights for edges (Xu et al. 2020)."""
    parts = RELAXATIONS["softmax-edges"], FirstOrder(), adam(lr, weight_decay)
    return Method(*parts, bilevel=bilevel, joint=joint, partial=partial, warmup=warmup)


@METHODS.register("gaea-darts")
def gaea_darts(*, bilevel: bool = True, joint: bool = False, lr: float = 0.1, floor: float = 0.0) -> Method:
    """GAEA DARTS: weights on the simplex, moved by exponentiated gradient (Li et al. 2021)."""
    update = exponentiated_gradient(lr, floor)
    return Method(RELAXATIONS["simplex"], FirstOrder(), update, bilevel=bilevel, joint=joint)


@METHODS.register("gaea-darts-erm")
def gaea_darts_erm(*, joint: bool = False, lr: float = 0.1, floor: float = 0.0) -> Method:
    """GAEA DARTS, single level: weights and architecture descend the same loss (Li et al. 2021)."""
    return gaea_darts(bilevel=False, joint=joint, lr=lr, floor=floor)


@METHODS.register("gaea-pc-darts")
def gaea_pc_darts(
    *, bilevel: bool = True, joint: bool = False, lr: float = 0.1, floor: float = 0.0, partial: int = 4,
    warmup: int = 10,
) -> Method:  # fmt: skip
    """GAEA PC-DARTS: partial channels, ops and edges moved by exponentiated gradient (Li et al. 2021)."""
    parts = RELAXATIONS["simplex-edges"], FirstOrder(), exponentiated_gradient(lr, floor)
    return Method(*parts, bilevel=bilevel, joint=joint, partial=partial, warmup=warmup)


@METHODS.register("gaea-gdas")
def gaea_gdas(
    *, bilevel: bool = True, joint: bool = False, lr: float = 0.1, floor: float = FLOOR,
    start: float = 10.0, end: float = 0.1,
) -> Method:  # fmt: skip
    """GAEA GDAS: samples from weights on the simplex, moved by exponentiated gradient (Li et al. 2021)."""
    parts = RELAXATIONS["gumbel-simplex"], FirstOrder(), exponentiated_gradient(lr, floor)
    return Method(*parts, bilevel=bilevel, joint=joint, hooks=(Temperature(start, end),))


@METHODS.register("xnas")
def xnas(
    *, bilevel: bool = True, joint: bool = False, bound: float = 1.0, zeta: float = 1.0,
    lr: float | None = None,
) -> Method:  # fmt: skip
    """XNAS: ops are experts, rewarded for each example, dropped when they cannot win (Nayman et al. 2019)."""
    parts = RELAXATIONS["simplex"], ClippedRewards(bound), expert_advice(bound, zeta, lr)
    return Method(*parts, bilevel=bilevel, joint=joint, hooks=(Wipeout(),))


@METHODS.register("asm")
def asm(*, cell_by_cell: bool = True) -> Method:
    """ASM-NAS: attention over the outputs of ops, no architecture parameters; decided cell by cell."""
    select = CellByCell() if cell_by_cell else FromStrengths()
    return Method(RELAXATIONS["attention"], select=select, preview=FromStrengths())


@METHODS.register("amended-darts")
def amended_darts(
    *, eta: float = 0.1, lr: float = 3e-4, weight_decay: float = 1e-3, product: ProductsName = "exact",
    radius: float = 0.01,
) -> Method:  # fmt: skip
    """Amended DARTS: the first order with an estimate of how the weights follow (Bi et al. 2019)."""
    gradient = Amended(eta, products(product, radius))
    update = adam(lr, weight_decay)
    return Method(lambda space, _: categorical.softmax(space), gradient, update, bilevel=True)


@METHODS.register("random-ws")
def random_ws(*, samples: int = 100, epoch_samples: int = 10) -> Method:
    """Random search with weight sharing: trains what is drawn, keeps the best (Li & Talwalkar 2019)."""
    chosen, preview = BestOfSamples(samples), BestOfSamples(epoch_samples)
    return Method(RELAXATIONS["random"], select=chosen, preview=preview)


@METHODS.register("random")
def random() -> Method:
    """One architecture, each as likely as any other; nothing is trained."""
    return Method(RELAXATIONS["random"], select=DrawOne(), trains=False)


@METHODS.register("evolution")
def evolution(
    *, score: Score | None = None, population: int = 50, tournament: int = 10, cycles: int = 300
) -> Method:
    """Regularised evolution by the word of an oracle; nothing is trained (Real et al. 2019)."""
    if score is None:
        raise CompositionError(
            "evolution needs an oracle: a function from genotypes to their accuracy; give it as score in "
            "Python, or with --plugin a file that registers a method with a score; dartboard bench has it "
            "beside every search"
        )
    select = Evolve(score, population, tournament, cycles)
    return Method(RELAXATIONS["random"], select=select, trains=False)
