"""Summaries of benches: accuracies with standard deviations, skip connections, sizes."""

from collections.abc import Iterator, Sequence

from dartboard.scoreboard import BenchRecord, EpochScore
from dartboard.scoreboard.bench import CONFIG
from dartboard.space import decode, get_space
from dartboard.space.graph import depth
from dartboard.space.spec import NONE
from dartboard.utils.statistics import Summary, summarize
from dartboard_papers._bench import BenchResults
from dartboard_papers._gaea_settings import METHOD_SETTINGS
from dartboard_papers.formatting import format_seconds

SKIP = "skip_connect"


def accuracies(records: Sequence[BenchRecord], dataset: str) -> Summary:
    """Summary of the test accuracies of the final cells."""
    return summarize([record.final.test[dataset] for record in records])


def spread(summary: Summary) -> str:
    """Mean and standard deviation in percent, such as `91.63 +- 2.57`."""
    std = "" if summary.deviation is None else f" +- {100 * summary.deviation:.2f}"
    return f"{100 * summary.mean:.2f}{std}"


def curve(record: BenchRecord) -> list[EpochScore]:
    """The points of a search, one per epoch; the last is the final cell."""
    return [*(point for point in record.points if point.epoch < record.final.epoch), record.final]


def skips(point: EpochScore) -> int:
    """Number of skip connections of the cell at a point."""
    return sum(edge.ops == (SKIP,) for cell in decode(point.cell).cells.values() for edge in cell.edges)


def is_cut_off(point: EpochScore) -> bool:
    """True if no path leads from an input to the output of the cell at a point."""
    return any(depth(cell) == 0 for cell in decode(point.cell).cells.values())


def edges(record: BenchRecord) -> int:
    """Number of edges of a cell of the searched space."""
    space = get_space(str(record.settings["space"]["name"]))
    return sum(NONE in edge.ops for _, cell in space.groups for edge in cell.edges)


def size(bench: BenchResults) -> str:
    """Description of the size of the searches."""
    settings = [record.settings for record in bench.records]
    first = settings[0]
    space, data = first["space"], first["data"]
    cells = space["cells"] or get_space(space["name"]).stack.cells
    pixels = f" at {data['size']}x{data['size']} pixels" if data["size"] else ""
    fewest, most = (choose(search["epochs"] for search in settings) for choose in (min, max))
    epochs = str(most) if fewest == most else f"{fewest} to {most}"
    return (
        f"{space['name']} with {cells} cell{'s' if cells > 1 else ''} a stage and {first['net']['channels']} "
        f"channels; {data['name']}{pixels}; {epochs} epochs"
    )


def remarks(bench: BenchResults) -> Iterator[str]:
    """Sentences about missing searches and about records that were read."""
    if bench.missing:
        yield f"Searches that are not there: {', '.join(bench.missing)}."
    if bench.folder is not None:
        seconds = sum(record.final.seconds or 0.0 for record in bench.records)
        count = len(bench.records)
        duration = format_seconds(seconds)
        yield f"The {count} searches were done before, with {bench.folder / CONFIG}, and took {duration}."


def title(label: str) -> str:
    """Name of a method in the paper."""
    return METHOD_SETTINGS[label].title
