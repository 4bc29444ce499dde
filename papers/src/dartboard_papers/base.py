"""What a reproduction is: a figure or a table of a paper, redone here and set beside what the paper says."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch
from matplotlib.figure import Figure

from dartboard.config.schema import Options
from dartboard.registry import Registry
from dartboard.scoreboard.records import STRICT
from dartboard.utils.progress import Progress, no_progress

PAPERS = {
    "xnas": "XNAS: Neural Architecture Search with Expert Advice (Nayman et al., 2019)",
    "gaea": "Geometry-Aware Gradient Algorithms for Neural Architecture Search (Li et al., 2021)",
    "asm-nas": "Architecture Self-Attention Mechanism (Hao and Zhu)",
    "amended-darts": "Stabilizing DARTS with Amended Gradient Estimation (Bi et al., 2019)",
    "understanding": "Understanding Architectures Learnt by Cell-based NAS (Shu et al., 2020)",
}
"""The papers by the first part of a reproduction's name."""


class Verdict(StrEnum):
    """Whether what a paper claims was seen here."""

    HELD = "held"
    NOT_HELD = "did not hold"
    NOT_TESTABLE = "not testable here"


class Scale(Options):
    """How large a reproduction is; each has numbers of its own, with those of a laptop as defaults."""

    @property
    def asks(self) -> bool:
        """Whether it must be given what it needs; not where all was done before, and is read."""
        return True


@dataclass(frozen=True)
class Row:
    """A number of the paper and what was measured in its place.

    Args:
        what: What it is of.
        paper: As the paper has it; None where it has none.
        here: As measured; None where it was not.
    """

    __pydantic_config__: ClassVar = STRICT

    what: str
    paper: float | str | None
    here: float | str | None


@dataclass(frozen=True, eq=False)
class Finding:
    """What came of a reproduction.

    Args:
        rows: The paper's numbers and those of here.
        verdict: Whether the paper's claim held.
        sentence: The same in one sentence, with what was seen.
        size: In words, how large it was: network, images, epochs and the like.
        seeds: How many repetitions stand behind each number; 0 where nothing is left to chance.
        figures: The pictures by name.
        numbers: What the pictures show, ready for JSON.
        remarks: What a reader should know besides; each a sentence.
    """

    rows: Sequence[Row]
    verdict: Verdict
    sentence: str
    size: str
    seeds: int
    figures: Mapping[str, Figure]
    numbers: Mapping[str, Any]
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Setting:
    """Where and with what a reproduction is done.

    Args:
        folder: Keeps what is finished, so that the same again goes on where it was stopped.
        data: Images in the place of the reproduction's own: a data set, a folder or a file.
        table: The file of the benchmark that a reproduction asks.
        device: Where to compute.
        jobs: How many processes may work.
        tell: Is told how far it is.
        full: Whether it shall be the paper's own experiment, which nothing smaller may stand in for.
    """

    folder: Path
    data: str | None = None
    table: Path | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    jobs: int = 1
    tell: Progress = no_progress
    full: bool = False


S = TypeVar("S", bound=Scale)


def _nothing(setting: Setting, scale: Scale) -> None:
    """Finds no fault."""


@dataclass(frozen=True)
class Reproduction(Generic[S]):
    """A figure or a table of a paper.

    Args:
        name: The paper's short name and the part, such as `xnas-figure-3`.
        about: What it shows, in a few words.
        claim: What the paper says about it, in one sentence.
        minutes: How long it takes on two cores, about.
        laptop: How large it is by default.
        full: How large it is in the paper; None where the default is that.
        work: Does it.
        takes: What it can be given of `data` and `table`.
        needs: What of that it cannot do without, unless its scale says so.
        check: Raises a DartboardError where it cannot be done with what it is given.
    """

    name: str
    about: str
    claim: str
    minutes: float
    laptop: S
    full: S | None
    work: Callable[[Setting, S], Finding]
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    check: Callable[[Setting, S], object] = _nothing

    def __post_init__(self) -> None:
        if not any(self.name.startswith(f"{key}-") for key in PAPERS):
            raise ValueError(f"a name begins with one of {', '.join(PAPERS)}, unlike {self.name!r}")

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return next(key for key in PAPERS if self.name.startswith(f"{key}-"))

    @property
    def part(self) -> str:
        """What of the paper it is, such as `figure 3` or `section 4.1`."""
        words = self.name.removeprefix(f"{self.paper}-").replace("-", " ")
        return re.sub(r"(?<=\d) (?=\d)", ".", words)

    def lacks(self, setting: Setting, scale: S) -> tuple[str, ...]:
        """What it needs and is not given."""
        missing = (key for key in self.needs if getattr(setting, key) is None)
        return tuple(missing) if scale.asks else ()


REPRODUCTIONS: Registry[Reproduction[Any]] = Registry("reproduction")
"""All of them by name."""


def in_order() -> list[Reproduction[Any]]:
    """All of them, by paper and by what of it they are, figure 2 before figure 10."""
    return sorted(REPRODUCTIONS.values(), key=_place)


def _place(told: Reproduction[Any]) -> tuple[int, list[tuple[str, int]]]:
    parts = re.findall(r"(\D+)(\d*)", told.part)
    return list(PAPERS).index(told.paper), [(words, int(number or 0)) for words, number in parts]


def reproduction(
    name: str,
    *,
    about: str,
    claim: str,
    minutes: float,
    laptop: S,
    full: S | None = None,
    takes: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    check: Callable[[Setting, S], object] = _nothing,
) -> Callable[[Callable[[Setting, S], Finding]], Callable[[Setting, S], Finding]]:
    """Decorator that files a function as a reproduction; the arguments are those of `Reproduction`."""

    def add(work: Callable[[Setting, S], Finding]) -> Callable[[Setting, S], Finding]:
        found = Reproduction(name, about, claim, minutes, laptop, full, work, takes, needs, check)
        REPRODUCTIONS.register(name, stacklevel=2)(found)
        return work

    return add
