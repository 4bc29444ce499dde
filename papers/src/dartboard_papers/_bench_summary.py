"""What searches found, in numbers and words: accuracies with deviations, skip connections, sizes."""

from collections.abc import Iterator, Sequence

from dartboard.scoreboard import BenchRecord, Point
from dartboard.scoreboard.store import CONFIG
from dartboard.space import decode, get_space
from dartboard.space.graph import depth
from dartboard.space.spec import NONE
from dartboard.utils.statistics import Summary, summarize
from dartboard_papers._bench import Board
from dartboard_papers._gaea_settings import WAYS
from dartboard_papers.base import Verdict
from dartboard_papers.formatting import format_seconds

SKIP = "skip_connect"


def accuracies(records: Sequence[BenchRecord], dataset: str) -> Summary:
    """Test accuracies of what was chosen at the end."""
    return summarize([own.final.test[dataset] for own in records])


def spread(found: Summary) -> str:
    """Mean and deviation in percent, such as `91.63 +- 2.57`."""
    deviation = "" if found.deviation is None else f" +- {100 * found.deviation:.2f}"
    return f"{100 * found.mean:.2f}{deviation}"


def curve(record: BenchRecord) -> list[Point]:
    """A search from epoch to epoch; what it chose at the end is the last."""
    return [*(point for point in record.points if point.epoch < record.final.epoch), record.final]


def skips(point: Point) -> int:
    """How many edges of the cell that would be chosen then are skip connections."""
    return sum(edge.ops == (SKIP,) for cell in decode(point.cell).cells.values() for edge in cell.edges)


def is_cut_off(point: Point) -> bool:
    """Whether a cell that would be chosen then lets nothing through, from no input to the output."""
    return any(depth(cell) == 0 for cell in decode(point.cell).cells.values())


def edges(record: BenchRecord) -> int:
    """How many edges a cell of its space has; where `none` is left out, every one carries something."""
    space = get_space(str(record.settings["space"]["name"]))
    return sum(NONE in edge.ops for _, cell in space.archs for edge in cell.edges)


def judge(*tested: bool | None) -> Verdict:
    """Held if all tests are passed; not if one is failed; else there is one that could not be made."""
    if False in tested:
        return Verdict.NOT_HELD
    return Verdict.NOT_TESTABLE if None in tested else Verdict.HELD


def size(board: Board) -> str:
    """How large the searches were, in words."""
    settings = [own.settings for own in board.records]
    first = settings[0]
    space, data = first["space"], first["data"]
    cells = space["cells"] or get_space(space["name"]).stack.cells
    pixels = f" at {data['size']}x{data['size']} pixels" if data["size"] else ""
    return (
        f"{space['name']} with {cells} cell{'s' if cells > 1 else ''} a stage and {first['net']['channels']} "
        f"channels; {data['name']}{pixels}; {_range([own['epochs'] for own in settings])} epochs"
    )


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def remarks(board: Board) -> Iterator[str]:
    """What is missing, and what was there before, in sentences."""
    if board.missing:
        yield f"Searches that are not there: {', '.join(board.missing)}."
    if board.kept is not None:
        seconds = sum(own.final.seconds or 0.0 for own in board.records)
        count = len(board.records)
        duration = format_seconds(seconds)
        yield f"The {count} searches were done before, with {board.kept / CONFIG}, and took {duration}."


def title(label: str) -> str:
    """What the paper calls a method."""
    return WAYS[label].title
