"""What a network gets right and wrong, laid out for people."""

from collections.abc import Iterator

from rich.text import Text

from dartboard.cli.measuring import Measured
from dartboard.cli.report import labelled
from dartboard.cli.terminal import Terminal
from dartboard.nn.evaluation import TOP, Evaluation

MOST = 20
"""Of more classes the confusion is not shown as a table."""
WORST = 5
NAME = 16  # columns for the name of a class


def print_measured(measured: Measured, model: str) -> None:
    """Print how well a network does."""
    terminal, found = Terminal(), measured.found
    terminal.write(labelled("network", model))
    terminal.write(labelled("images", str(measured.chosen)))
    terminal.write(labelled("loss", f"{found.loss:.4f}"))
    terminal.write(labelled("accuracy", _accuracy(found)))
    terminal.write(labelled("speed", f"{measured.speed:,.0f} images a second on {measured.device}"))
    few = len(measured.classes) <= MOST
    lines = confusion_lines(found, measured.classes) if few else _worst(found, measured.classes)
    terminal.write(["", *lines])


def _accuracy(found: Evaluation) -> str:
    more = f", {found.top5:.2%} among the first {TOP}" if len(found.confusion) > TOP else ""
    return f"{found.top1:.2%}{more}"


def confusion_lines(found: Evaluation, classes: tuple[str, ...]) -> Iterator[Text]:
    """A line for each class: how many of its images were taken for which, and the share that was right."""
    rows = found.confusion.tolist()
    name = min(max(map(len, classes)), NAME)
    column = max(len(str(count)) for row in rows for count in row) + 1
    column = max(column, len(str(len(classes) - 1)) + 1)
    numbers = "".join(str(number).rjust(column) for number in range(len(classes)))
    yield Text(f"{'':>2} {'':{name}}{numbers}   right", "dim")
    for number, (label, row, share) in enumerate(zip(classes, rows, found.per_class, strict=True)):
        line = Text.assemble((f"{number:>2} ", "dim"), label[:name].ljust(name))
        for place, count in enumerate(row):
            line.append(str(count).rjust(column), "bold" if place == number else "" if count else "dim")
        yield line.append(f"  {_share(share)}")


def _worst(found: Evaluation, classes: tuple[str, ...]) -> Iterator[Text]:
    pairs = zip(found.per_class, classes, strict=True)
    known = sorted((share, label) for share, label in pairs if share is not None)
    yield Text("the classes that it knows least", "dim")
    yield from (Text(f"{_share(share)}  {label}") for share, label in known[:WORST])


def _share(share: float | None) -> str:
    return "     -" if share is None else f"{share:6.1%}"
