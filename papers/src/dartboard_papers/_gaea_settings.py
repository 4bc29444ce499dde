"""Settings of the GAEA paper for each method.

At the paper's own size rates are the paper's. A search on a laptop takes fewer steps; its rates, bounds and
frozen epochs are the library's rules (`method.lr=auto`), with nothing set for a space, as in results/nb201.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class MethodSettings:
    """Settings of the paper for a method.

    Args:
        title: Name in the paper's tables.
        rate: Learning rate of the architecture; None if the method sets its own, or has none.
        method: Options of the method besides the rate.
        without: Ops that are left out of the space.
        sampled: True if ops are drawn. Such methods cannot judge `none`, which is left out for them too, but
            not in the paper.
    """

    title: str
    rate: float | None = None
    method: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    sampled: bool = False

    def search(self, *, full: bool) -> dict[str, Any]:
        """Settings of a search.

        Args:
            full: Whether it is the paper's own experiment.
        """
        rate = {"lr": self.rate} if full and self.rate is not None else {}
        without = BARE if self.sampled and not full else self.without
        return {
            "method": {**self.method, **rate},
            **({"space": {"without": list(without)}} if without else {}),
        }


ADAM, PARTIAL, MULTIPLIED = 3e-4, 6e-4, 0.1
"""The paper's learning rates: of DARTS and GDAS, of PC-DARTS, of all GAEA variants."""
BARE = ("none",)

METHOD_SETTINGS = {
    "random-ws": MethodSettings("RSPS"),
    "darts": MethodSettings("DARTS (bilevel)", ADAM, without=BARE),
    "gaea-darts": MethodSettings("GAEA DARTS (bilevel)", MULTIPLIED, without=BARE),
    "darts-erm": MethodSettings(
        "DARTS (ERM)", ADAM, {"name": "darts", "bilevel": False, "joint": True}, without=BARE
    ),
    "gaea-darts-erm": MethodSettings("GAEA DARTS (ERM)", MULTIPLIED, {"joint": True}, without=BARE),
    "gdas": MethodSettings("GDAS", ADAM, sampled=True),
    "gaea-gdas": MethodSettings("GAEA GDAS", MULTIPLIED, sampled=True),
    "xnas": MethodSettings("XNAS", without=BARE),
    "pc-darts": MethodSettings("PC-DARTS", PARTIAL),
    "gaea-pc-darts": MethodSettings("GAEA PC-DARTS", MULTIPLIED),
}
"""Settings by label; the paper leaves `none` out of NAS-Bench-201 where it searches with DARTS or XNAS."""
