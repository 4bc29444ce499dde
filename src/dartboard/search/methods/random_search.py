"""Random search, with weight sharing and without (Li & Talwalkar 2019)."""

from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.method import METHODS, Method
from dartboard.search.select import BestOfSamples, DrawOne


@METHODS.register("random-ws")
def random_ws(*, samples: int = 100, epoch_samples: int = 10) -> Method:
    """Random search with weight sharing: trains what is drawn, keeps the best (Li & Talwalkar 2019)."""
    chosen, preview = BestOfSamples(samples), BestOfSamples(epoch_samples)
    return Method(RELAXATIONS["random"], select=chosen, preview=preview)


@METHODS.register("random")
def random() -> Method:
    """One architecture, each as likely as any other; nothing is trained."""
    return Method(RELAXATIONS["random"], select=DrawOne(), trains=False)
