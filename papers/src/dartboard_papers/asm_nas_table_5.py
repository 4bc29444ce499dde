"""ASM-NAS table 5: what one optimization costs, against DARTS.

One image passes the supernet of 15 cells, and the time of one optimization is taken: for DARTS that is a step
of the weights and one of the architecture, for ASM one step of the weights, attention included. The paper
does not say which order its DARTS has. Its step of the architecture takes seven times as long as that of the
weights, and only the second order has several passes: so second order it is here, with finite differences as
DARTS has them; the first order is shown beside it. Steps take turns, so that whatever slows the machine down
slows all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter

import torch
from matplotlib.figure import Figure
from pydantic import Field

from dartboard.config.schema import Count
from dartboard.data import Dataset, ImageSet
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.viz.line_styles import COLORS
from dartboard_papers._asm import asm_space
from dartboard_papers._differences import SIGNS, more_than_half
from dartboard_papers.base import ReproductionResult, Row, RunOptions, Scale, reproduction

Step = Callable[[], object]
Times = Mapping[str, Sequence[float]]
"""Seconds of each step."""
WEIGHTS, FIRST, SECOND, ASM = (
    "DARTS, weights",
    "DARTS, architecture, first order",
    "DARTS, architecture, second order",
    "ASM-NAS, weights",
)
PAPER = {WEIGHTS: 1.41, FIRST: None, SECOND: 9.96, ASM: 1.43}
"""Seconds in the paper."""
TWICE, ABOUT = 2.0, 1.25
"""The ratios of the rules."""
LATE = "until now the medians of 7 turns were judged, by which both parts held"
SLOWER, EQUAL = "DARTS takes much longer in all", "attention costs little"
CLASSES = 10


class Cost(Scale):
    """The supernet and how often it is timed."""

    cells: Count = Field(default=15, ge=3, description="cells in the stack")
    channels: Count = Field(default=16, description="channels of the first stage")
    image: Count = Field(default=32, description="height and width of an image")
    batch: Count = Field(default=1, description="images in a step")
    repeats: Count = Field(default=9, description="how often each step is timed")


def noise(scale: Cost) -> Dataset:
    """Images of noise: time does not depend on what they show."""
    generator = torch.Generator().manual_seed(0)
    count = 4 * scale.batch
    images = torch.randint(256, (count, 3, scale.image, scale.image), generator=generator, dtype=torch.uint8)
    labels = torch.arange(count) % CLASSES
    return Dataset("noise", tuple(map(str, range(CLASSES))), ImageSet(images, labels))


def make_steps(scale: Cost, device: torch.device) -> dict[str, Step]:
    """The steps that are timed, each of a separate search."""
    data, space = noise(scale), asm_space(scale.cells)
    options = SearchOptions.model_validate(
        {"batch": scale.batch, "net": {"channels": scale.channels}, "data": {"valid": 0.5}}
    )

    def make(name: str, **method_options: object) -> Searcher:
        searcher = Searcher(space, make_method(name, method_options), data, options, device=device)
        searcher.net.train()
        return searcher

    darts, second, asm = make("darts"), make("darts-2nd", product="finite"), make("asm")
    batch = darts.loaders.train.batch(0)
    return {
        WEIGHTS: lambda: darts.stepper.weight_step(batch),
        FIRST: lambda: darts.stepper.arch_step(batch, batch),
        SECOND: lambda: second.stepper.arch_step(batch, batch),
        ASM: lambda: asm.stepper.weight_step(batch),
    }


def time_steps(steps: Mapping[str, Step], repeats: int, options: RunOptions) -> dict[str, list[float]]:
    """Seconds of each step, in turns; the first turn is a warm-up and not counted."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(repeats + 1):
        options.tell("turns", turn, repeats + 1)
        for name, step in steps.items():
            _wait(options.device)
            start = perf_counter()
            step()
            _wait(options.device)
            seconds = perf_counter() - start
            times[name] += [seconds] if turn else []
    return times


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


@reproduction(
    "asm-nas-table-5",
    about="the cost of one optimization with DARTS and with ASM-NAS",
    claim="one optimization takes ASM-NAS 1.43 s and DARTS 11.37 s, nearly all of it for the architecture",
    rules={
        SLOWER: f"in more than half of the turns DARTS of the second order takes at least {TWICE:g} times as "
        f"long in all as ASM-NAS, {SIGNS}",
        EQUAL: f"in more than half of the turns ASM-NAS' step of the weights takes at most {ABOUT:g} times "
        f"as long as DARTS', {SIGNS}",
    },
    setup="a processor instead of a graphics card, which the paper had",
    minutes=3,
    laptop=Cost(),
)
def reproduce(options: RunOptions, scale: Cost) -> ReproductionResult:
    """Times the steps of both, in turns."""
    times = time_steps(make_steps(scale, options.device), scale.repeats, options)
    return judge(times, scale)


def judge(times: Times, scale: Cost) -> ReproductionResult:
    """Result from the times."""
    medians = {name: median(seconds) for name, seconds in times.items()}
    ratio, first = ((medians[WEIGHTS] + medians[order]) / medians[ASM] for order in (SECOND, FIRST))
    weights = medians[ASM] / medians[WEIGHTS]
    turns = list(zip(*(times[name] for name in (WEIGHTS, SECOND, ASM)), strict=True))
    totals = [
        Row("DARTS, in all (s)", 11.37, medians[WEIGHTS] + medians[SECOND]),
        Row("DARTS in all / ASM-NAS", 11.37 / 1.43, ratio),
        Row("DARTS in all / ASM-NAS, first order", None, first),
        Row("weights of ASM-NAS / of DARTS", 1.43 / 1.41, weights),
    ]
    return ReproductionResult(
        rows=[*(Row(f"{name} (s)", PAPER[name], seconds) for name, seconds in medians.items()), *totals],
        parts={
            SLOWER: more_than_half([own + second >= TWICE * asm for own, second, asm in turns]),
            EQUAL: more_than_half([asm <= ABOUT * own for own, _, asm in turns]),
        },
        sentence=(
            f"DARTS took {ratio:.1f} times as long as ASM-NAS with the second order and {first:.1f} times "
            f"with the first; ASM's step of the weights took {weights:.2f} times as long as DARTS'"
        ),
        size=(
            f"{scale.cells} cells, {scale.channels} channels, batches of {scale.batch}, "
            f"{scale.image}x{scale.image} pixels; medians of {scale.repeats}"
        ),
        seeds=scale.repeats,
        figures={"cost": draw(times)},
        numbers={"seconds": {name: list(seconds) for name, seconds in times.items()}},
        remarks=["the paper does not say of which order its DARTS is; seconds depend on the machine", LATE],
    )


def draw(times: Times) -> Figure:
    """A bar for the median of each step, with a dot for each time."""
    figure = Figure((7, 3), layout="constrained")
    axes = figure.add_subplot(xlabel="seconds")
    for index, seconds in enumerate(times.values()):
        axes.barh(index, median(seconds), color=COLORS[index], alpha=0.6)
        axes.plot(seconds, [index] * len(seconds), ".", color="black", markersize=4)
        axes.annotate(
            f"{median(seconds):.2f} s", (max(seconds), index), (4, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(range(len(times)), list(times))
    axes.invert_yaxis()
    axes.margins(x=0.18)
    return figure
