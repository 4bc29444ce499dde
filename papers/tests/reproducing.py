"""What the tests of reproductions share: a small one, gone when the block ends, and numbers of searches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pydantic import Field

from dartboard_papers import (
    REPRODUCTIONS,
    PartResult,
    Reproduction,
    ReproductionResult,
    Row,
    RunOptions,
    Scale,
    reproduction,
)

NAME = "xnas-figure-99"
OTHER_NUMBERS: dict[str, object] = {
    "channels": 8,
    "epochs": 2,
    "batch": 200,
    "lr": 0.2,
    "travel": 1.0,
    "seeds": 2,
    "images": "cluttered-digits",
    "pad": 1,
    "flip": True,
}
"""Numbers of searches that differ from those of tiny ones; a plan that reads them is another with each."""


class Small(Scale):
    """Its numbers."""

    epochs: int = Field(default=2, ge=1, description="passes over nothing")
    words: str = Field(default="plain", description="what is said")


LAPTOP, PAPER = Small(), Small(epochs=600, words="as in the paper")


def result(scale: Small = LAPTOP, **other: Any) -> ReproductionResult:
    figure = Figure((2, 2))
    figure.add_subplot().plot([0, scale.epochs])
    values: dict[str, Any] = {
        "rows": [Row("epochs", 600, scale.epochs), Row("a | b", None, "94.1 +- 0.2")],
        "parts": {"more is more": PartResult(True, "more were more", 0.05)},
        "sentence": f"it said {scale.words}",
        "size": "nothing at all",
        "seeds": 3,
        "figures": {"curve": figure},
        "numbers": {"curve": np.arange(2.0), "gap": float("nan")},
        "remarks": ["mind the gap"],
    }
    return ReproductionResult(**values | other)


def usual(options: RunOptions, scale: Small) -> ReproductionResult:
    """Counts in its folder how often it was done, and tells."""
    options.tell("counting", 1, 2)
    path = options.folder / "count"
    path.write_text(str(int(path.read_text()) + 1 if path.exists() else 1))
    return result(scale)


Work = Callable[[RunOptions, Small], ReproductionResult]


@contextmanager
def registered(
    work: Work = usual,
    *,
    name: str = NAME,
    full: Small | None = PAPER,
    takes: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
) -> Iterator[Reproduction[Small]]:
    """Inside, there is one more reproduction."""
    reproduction(
        name,
        about="a line that goes up",
        claim="more epochs are more",
        rules={"more is more": "there are more"},
        setup="nothing is computed",
        minutes=0.2,
        laptop=LAPTOP,
        full=full,
        takes=takes,
        needs=needs,
    )(work)
    try:
        yield REPRODUCTIONS[name]
    finally:
        del REPRODUCTIONS._values[name]
