"""Reproductions: figures and tables of papers, computed again and compared with what the paper says."""

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
from dartboard.scoreboard.records import STRICT, Amount
from dartboard.utils.progress import Progress, no_progress

PAPERS = {
    "xnas": "XNAS: Neural Architecture Search with Expert Advice (Nayman et al., 2019)",
    "gaea": "Geometry-Aware Gradient Algorithms for Neural Architecture Search (Li et al., 2021)",
    "asm-nas": "Architecture Self-Attention Mechanism (Hao and Zhu)",
    "amended-darts": "Stabilizing DARTS with Amended Gradient Estimation (Bi et al., 2019)",
    "understanding": "Understanding Architectures Learnt by Cell-based NAS (Shu et al., 2020)",
}
"""Titles of the papers by their short name, with which the names of reproductions begin."""
LEVEL = 0.05
"""Largest p-value that counts: if a claim is false, a test at this level passes one time in twenty."""


class Verdict(StrEnum):
    """Whether the claim of a paper holds here."""

    HELD = "held"
    PARTLY = "partly"
    NOT_HELD = "did not hold"
    NOT_TESTABLE = "not testable here"


class Scale(Options):
    """Settings that say how large a reproduction is; the defaults are small enough for a laptop."""

    @property
    def needs_inputs(self) -> bool:
        """True if the inputs it declares are required; False if it reads finished results."""
        return True


@dataclass(frozen=True)
class Row:
    """A number of the paper beside the one measured here.

    Args:
        what: Quantity.
        paper: Value in the paper; None if it gives none.
        here: Value measured here; None if there is none.
    """

    __pydantic_config__: ClassVar = STRICT

    what: str
    paper: float | str | None
    here: float | str | None


@dataclass(frozen=True)
class PartResult:
    """Whether one part of a claim held here, by its rule.

    Args:
        held: Whether the rule passed; None if this part cannot be tested at this scale.
        observed: The figures that the rule looked at, in a few words; of an untested part, what it takes.
        chance: Probability that the rule passes if this part of the claim is false, by permutations or a
            bootstrap of the same data, or the level of its test; None where nothing is left to chance.
    """

    __pydantic_config__: ClassVar = STRICT

    held: bool | None
    observed: str
    chance: Amount | None

    @property
    def verdict(self) -> Verdict:
        """Held, did not hold, or not testable here."""
        if self.held is None:
            return Verdict.NOT_TESTABLE
        return Verdict.HELD if self.held else Verdict.NOT_HELD


def overall_verdict(parts: Mapping[str, PartResult]) -> Verdict:
    """Verdict that all parts of a claim have; partly if they differ, not testable here if there are none."""
    verdicts = {part.verdict for part in parts.values()}
    if not verdicts:
        return Verdict.NOT_TESTABLE
    return verdicts.pop() if len(verdicts) == 1 else Verdict.PARTLY


@dataclass(frozen=True, eq=False)
class ReproductionResult:
    """Result of a reproduction.

    Args:
        rows: Numbers of the paper beside those measured here.
        parts: Results of the parts of the claim, by the names that the rules of the reproduction have; empty
            if the claim cannot be tested here.
        sentence: Observations in one sentence; where the claim cannot be tested, what that would take.
        size: Description of network, images, epochs and the like.
        seeds: Number of repetitions behind each number; 0 if the computation is deterministic.
        figures: Pictures by name.
        numbers: Data of the pictures, ready for JSON.
        remarks: Further sentences for the reader.
    """

    rows: Sequence[Row]
    parts: Mapping[str, PartResult]
    sentence: str
    size: str
    seeds: int
    figures: Mapping[str, Figure]
    numbers: Mapping[str, Any]
    remarks: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """Verdict of the whole claim."""
        return overall_verdict(self.parts)


@dataclass(frozen=True)
class RunOptions:
    """Options of one run of a reproduction.

    Args:
        folder: Folder of intermediate results, from which the same run resumes.
        data: Images instead of the reproduction's default: a data set, a folder or a file.
        table: File of the benchmark table that the reproduction queries.
        device: Device to compute on.
        jobs: Number of worker processes.
        executor: Name of the executor that runs searches and trainings; None for this machine.
        executor_options: Its options.
        tell: Progress callback.
        full: True if it must be the paper's own experiment, without a smaller substitute.
    """

    folder: Path
    data: str | None = None
    table: Path | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    jobs: int = 1
    executor: str | None = None
    executor_options: Mapping[str, Any] = field(default_factory=dict)
    tell: Progress = no_progress
    full: bool = False


S = TypeVar("S", bound=Scale)


def _no_check(options: RunOptions, scale: Scale) -> None:
    """Accepts all options."""


@dataclass(frozen=True)
class Reproduction(Generic[S]):
    """A figure or a table of a paper that can be computed again.

    Args:
        name: Short name of the paper and the part, such as `xnas-figure-3`.
        about: What it shows, in a few words.
        claim: What the paper says about it, in one sentence.
        rules: When each part of the claim held, by a short name of the part; fixed before it is run.
        setup: How network, images and training differ from the paper's at the default scale; empty if they
            do not.
        minutes: Approximate duration on two cores.
        laptop: Default scale.
        full: Scale of the paper; None if that is the default.
        work: Function that runs it.
        takes: Inputs that it accepts, of `data` and `table`.
        needs: Inputs that it requires, unless its scale says otherwise.
        check: Raises a DartboardError if it cannot run with these options.
    """

    name: str
    about: str
    claim: str
    rules: Mapping[str, str]
    setup: str
    minutes: float
    laptop: S
    full: S | None
    work: Callable[[RunOptions, S], ReproductionResult]
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    check: Callable[[RunOptions, S], object] = _no_check

    def __post_init__(self) -> None:
        if not any(self.name.startswith(f"{key}-") for key in PAPERS):
            raise ValueError(f"a name begins with one of {', '.join(PAPERS)}, unlike {self.name!r}")

    @property
    def paper(self) -> str:
        """The paper's short name."""
        return next(key for key in PAPERS if self.name.startswith(f"{key}-"))

    @property
    def part(self) -> str:
        """Part of the paper, such as `figure 3` or `section 4.1`."""
        words = self.name.removeprefix(f"{self.paper}-").replace("-", " ")
        return re.sub(r"(?<=\d) (?=\d)", ".", words)

    def missing_inputs(self, options: RunOptions, scale: S) -> tuple[str, ...]:
        """Inputs that it requires and that the options do not give."""
        missing = (key for key in self.needs if getattr(options, key) is None)
        return tuple(missing) if scale.needs_inputs else ()


REPRODUCTIONS: Registry[Reproduction[Any]] = Registry("reproduction")
"""All reproductions by name."""


def in_order() -> list[Reproduction[Any]]:
    """All reproductions, sorted by paper and part, figure 2 before figure 10."""

    def sort_key(item: Reproduction[Any]) -> tuple[int, list[tuple[str, int]]]:
        parts = re.findall(r"(\D+)(\d*)", item.part)
        return list(PAPERS).index(item.paper), [(text, int(number or 0)) for text, number in parts]

    return sorted(REPRODUCTIONS.values(), key=sort_key)


def reproduction(
    name: str,
    *,
    about: str,
    claim: str,
    rules: Mapping[str, str],
    setup: str = "",
    minutes: float,
    laptop: S,
    full: S | None = None,
    takes: tuple[str, ...] = (),
    needs: tuple[str, ...] = (),
    check: Callable[[RunOptions, S], object] = _no_check,
) -> Callable[[Callable[[RunOptions, S], ReproductionResult]], Callable[[RunOptions, S], ReproductionResult]]:
    """Decorator that registers a function as a reproduction; the arguments are those of `Reproduction`."""

    def add(
        work: Callable[[RunOptions, S], ReproductionResult],
    ) -> Callable[[RunOptions, S], ReproductionResult]:
        item = Reproduction(
            name, about, claim, rules, setup, minutes, laptop, full, work, takes, needs, check
        )
        REPRODUCTIONS.register(name, stacklevel=2)(item)
        return work

    return add
