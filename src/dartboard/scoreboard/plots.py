"""Pictures of a bench: regret while searching, and the cells that were found among all there are."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from dartboard.scoreboard.baselines import Baseline
from dartboard.scoreboard.curves import by_epoch, by_seconds
from dartboard.scoreboard.records import BenchRecord
from dartboard.scoreboard.rows import RANDOM
from dartboard.tables import Table
from dartboard.viz.figures import save_figure
from dartboard.viz.plots import ReferenceCurve, plot_accuracies, plot_regret


def draw(
    records: Sequence[BenchRecord], oracle: Table, folder: Path, baselines: Sequence[Baseline] = ()
) -> list[Path]:
    """Draws all pictures, each as SVG and as PNG, and returns their paths; none without records.

    `regret-epochs` and, where seconds are known, `regret-seconds` show the regret while searching,
    `final-cells` what was chosen at the end.

    Args:
        records: What there is; methods stand in the order in which they come.
        oracle: The benchmark that they asked; pictures are of its first data set.
        folder: Where the pictures go; it must be there.
        baselines: The one called `random` is drawn beside the methods; without it, a single random cell is.
    """
    if not records:
        return []
    labels = dict.fromkeys(own.label for own in records)
    groups = {label: [own for own in records if own.label == label] for label in labels}
    random = next((own for own in baselines if own.label == RANDOM), None) or one_cell(oracle)
    return [
        path
        for name, figure in _figures(groups, oracle, random)
        for path in save_figure(figure, folder / name)
    ]


def one_cell(oracle: Table) -> Baseline:
    """Random with a single query, exactly: the mean over all architectures."""
    tests = {name: [float(oracle.ranking(name).tests.mean())] for name in oracle.datasets}
    first = oracle.datasets[0]
    return Baseline(RANDOM, 1, "test", tests, [oracle.ranking(first).best - tests[first][0]], None)


def _figures(
    groups: Mapping[str, Sequence[BenchRecord]], oracle: Table, random: Baseline
) -> Iterator[tuple[str, Figure]]:
    """All pictures with their names."""
    dataset = oracle.datasets[0]
    label = f"random, best of {random.queries:,}" if random.queries > 1 else "random, one cell"
    reference = ReferenceCurve(label, random.regrets, random.seconds)
    epochs = {label: by_epoch(own, dataset) for label, own in groups.items()}
    yield "regret-epochs", plot_regret(epochs, "epochs", dataset, reference)
    seconds = {label: by_seconds(own, dataset) for label, own in groups.items()}
    if any(seconds.values()):
        yield "regret-seconds", plot_regret(seconds, "seconds", dataset, reference)
    finals = {label: [own.final.test[dataset] for own in group] for label, group in groups.items()}
    yield "final-cells", plot_accuracies(finals, dataset, oracle.ranking(dataset).tests)
