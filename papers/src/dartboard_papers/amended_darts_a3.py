"""Amended-DARTS A.3: a supernet of two cells, searched to its end with and without the amending term.

A.3 is called a toy example of the "gradient trap", but there is nothing in it to derive: it reports errors of
a search of 600 epochs in DARTS' space with two cells, and of two trainings that follow it. The text does not
say which two cells (here a normal and a reduction cell), the coefficient (here 0.1, as everywhere in the
paper), how many runs there were, how long and how wide the trainings were (here as wide as the search), how
they were regularized (at the paper's size as in DARTS, which 4.1.1 says of trainings; the search has crops
and flips alone, as DARTS'), whether the mixtures stay as they are while the supernet is trained again (here
they do), nor what "generalize" is (here: the cells are made discrete). Its "validation sets" are the test
images in the second and third statement, as its errors are called test errors.

The three statements, each with and without g2':
1. the supernet of the search, on the half of the training images that the architecture is judged by;
2. the supernet trained again on all training images, on test images;
3. the discrete network trained on all training images, on test images.

The test, fixed before: for each statement the error without g2' minus that with it, seed by seed. The claim
holds if all three means are above two standard errors, and does not if one is not positive; else noise
decides and it is not testable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from matplotlib.figure import Figure
from pydantic import Field

from dartboard.config.schema import Count
from dartboard.runs import Run
from dartboard.search.config import SearchConfig
from dartboard.space.formats import GENOTYPE_FORMATS
from dartboard.viz.line_styles import line_styles
from dartboard_papers._amended import (
    amended_searches,
    count_kinds,
    final_genotype,
    judge_all,
    keep_space,
    mean_and_error,
    shares,
    small_darts,
)
from dartboard_papers._amended_training import REGULARIZED, Regularized, TrainingSpec, errors
from dartboard_papers._searches import searches
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

SEARCH, SUPERNET, CELLS = "supernet of the search", "supernet trained again", "discrete network"
WITH, WITHOUT = "with g2'", "without g2'"
PAPER = {SEARCH: (10.5, 12.8), SUPERNET: (5.4, 7.4), CELLS: (6.2, 7.4)}
"""Errors with and without the amending term, in percent."""
CELLS_IN_STACK = 2
Errors = Mapping[str, Mapping[str, Sequence[float]]]
"""By statement and by whether there is a g2', the errors of all seeds in percent."""


class Trap(Regularized):
    """The searches and trainings of A.3."""

    nodes: Count = Field(default=2, description="inner nodes of a cell")
    channels: Count = Field(default=4, description="channels of the first stage")
    epochs: Count = Field(default=6, description="of each search")
    retrain: Count = Field(default=6, description="epochs of each training after the search")
    batch: Count = Field(default=64, description="images in a step")
    lr: float = Field(default=0.1, gt=0, description="learning rate of the weights at the start")
    eta: float = Field(default=0.1, gt=0, description="amending coefficient")
    travel: float = Field(default=47.0, gt=0, description="rate times steps of the architecture")
    seeds: Count = Field(default=3, description="searches of each kind")


FULL = Trap(**REGULARIZED, nodes=4, channels=16, epochs=600, retrain=600, batch=96, lr=0.025, seeds=5)


def plan(options: RunOptions, scale: Trap) -> dict[str, SearchConfig]:
    """The searches by label."""
    base = {
        "space": {"name": keep_space(small_darts(scale.nodes, CELLS_IN_STACK), options.folder)},
        "data": {**scale.data(options), "valid": 0.5},
        "epochs": scale.epochs,
        "batch": scale.batch,
        "net": {"channels": scale.channels},
        "weights": {"lr": scale.lr},
    }
    configs = {}
    for kind, eta in ((WITH, scale.eta), (WITHOUT, 0.0)):
        for config in amended_searches(base, eta, scale.travel, scale.seeds):
            configs[_label(kind, config.seed)] = config
    return configs


def _label(kind: str, seed: int) -> str:
    return f"{'with' if kind == WITH else 'without'}-{seed}"


def follow(run: Run, config: SearchConfig, scale: Trap) -> dict[str, TrainingSpec]:
    """The two trainings after a search, by statement."""
    cells = TrainingSpec(
        space=config.space.name,
        genotype=GENOTYPE_FORMATS["json"].encode(final_genotype(run)),
        data=config.data.name,
        channels=scale.channels,
        epochs=scale.retrain,
        batch=scale.batch,
        lr=scale.lr,
        seed=config.seed,
        **scale.in_training(),
    )
    return {CELLS: cells, SUPERNET: replace(cells, run=str(run.path))}


@reproduction(
    "amended-darts-a3",
    about="a supernet of two cells searched to its end, with and without the amending term",
    claim="without g2' the supernet's error is 12.8 instead of 10.5 % in the search and 7.4 instead of 5.4 % "
    "when it is trained again, and the discrete network's 7.4 instead of 6.2 %",
    minutes=8,
    laptop=Trap(),
    full=FULL,
    takes=("data",),
)
def reproduce(options: RunOptions, scale: Trap) -> ReproductionResult:
    """Measures the three errors, with and without the amending term."""
    configs = plan(options, scale)
    runs = searches(configs, options)
    after = {
        f"{label}-{'cells' if what == CELLS else 'supernet'}": spec
        for label, run in runs.items()
        for what, spec in follow(run, configs[label], scale).items()
    }
    errors_by_kind = gather(runs, errors(after, options, "trainings"), scale.seeds)
    gains = {  # mean reduction of the error by g2' over seeds, and its standard error
        what: mean_and_error([bare - amended for amended, bare in zip(by[WITH], by[WITHOUT], strict=True)])
        for what, by in errors_by_kind.items()
    }
    changes = ", ".join(f"{mean:+.2f} +- {error:.2f} for the {what}" for what, (mean, error) in gains.items())
    return ReproductionResult(
        rows=_rows(errors_by_kind, gains, runs, scale.seeds),
        verdict=judge_all(gains.values()),
        sentence=f"Points of error that g2' takes away, with standard errors: {changes}.",
        size=f"DARTS' ops in two cells of {scale.nodes} nodes, {scale.channels} channels, "
        f"{scale.chosen(options)}, {scale.epochs} epochs of search and {scale.retrain} of training",
        seeds=scale.seeds,
        figures={"errors": draw(errors_by_kind)},
        numbers={
            what: {kind: list(values) for kind, values in by_kind.items()}
            for what, by_kind in errors_by_kind.items()
        },
        remarks=["A.3 states errors of an experiment; it has no derivation, and no number of runs."],
    )


def gather(runs: Mapping[str, Run], trained: Mapping[str, float], seeds: int) -> Errors:
    """All errors, by statement."""
    errors_by_kind: dict[str, dict[str, list[float]]] = {SEARCH: {}, SUPERNET: {}, CELLS: {}}
    for kind in (WITH, WITHOUT):
        labels = [_label(kind, seed) for seed in range(seeds)]
        accuracies = [runs[label].metrics()[-1]["valid_accuracy"] for label in labels]
        errors_by_kind[SEARCH][kind] = [100 * (1 - accuracy) for accuracy in accuracies]
        errors_by_kind[SUPERNET][kind] = [trained[f"{label}-supernet"] for label in labels]
        errors_by_kind[CELLS][kind] = [trained[f"{label}-cells"] for label in labels]
    return errors_by_kind


def _rows(
    errors_by_kind: Errors, gains: Mapping[str, tuple[float, float]], runs: Mapping[str, Run], seeds: int
) -> list[Row]:
    rows = []
    for what, values in errors_by_kind.items():
        for kind, paper in zip((WITH, WITHOUT), PAPER[what], strict=True):
            rows.append(Row(f"{what}, {kind}: error, %", paper, mean_and_error(values[kind])[0]))
        lower = PAPER[what][1] - PAPER[what][0]
        rows.append(Row(f"{what}: g2' lowers the error by, points", round(lower, 2), gains[what][0]))
    for kind in (WITH, WITHOUT):
        cells = [final_genotype(runs[_label(kind, seed)]) for seed in range(seeds)]
        words = ", ".join(f"{op} {share:.0f} %" for op, share in shares(count_kinds(cells)).items())
        rows.append(Row(f"ops of the cells, {kind}", None, words))
    return rows


def draw(errors_by_kind: Errors) -> Figure:
    """The errors of all seeds, with and without the amending term."""
    figure = Figure((9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(errors_by_kind))
    for axes, (what, values) in zip(panels, errors_by_kind.items(), strict=True):
        for place, (kind, style) in enumerate(line_styles((WITH, WITHOUT)).items()):
            axes.bar(place, mean_and_error(values[kind])[0], width=0.6, color=style.color, alpha=0.5)
            axes.plot([place] * len(values[kind]), values[kind], "o", color=style.color)
            axes.plot([place - 0.3, place + 0.3], [PAPER[what][place]] * 2, "k--", linewidth=1.2)
        axes.set(title=what, xticks=(0, 1), xticklabels=(WITH, WITHOUT), ylim=(0, None))
    panels[0].set_ylabel("error, %; dashed: the paper")
    return figure
