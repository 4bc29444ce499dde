"""A protocol while it runs, in lines, and what it came to, in tables."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dartboard.cli.display import Display, Lines
from dartboard.cli.outcome import places
from dartboard.cli.report import LABEL, labelled
from dartboard.cli.terminal import Terminal
from dartboard.cli.words import numbers, span
from dartboard.sweep.protocol.results import Arm, NetworkFacts, ProtocolResult
from dartboard.train.build import TEST
from dartboard.utils.text import command


class RunLines(Lines):
    """One plain line for each epoch of each run inside, with the name of the run."""

    def on_epoch_end(self, loop: Any, record: Any) -> None:
        epochs = loop.plan.epochs
        place = f"{_name(loop)}  epoch {loop.epoch:{len(str(epochs))}} of {epochs}"
        self.say([f"{place}  {numbers(record.metrics)}  {self.left(loop)}"])

    def on_end(self, loop: Any, result: Any) -> None:
        self.say([f"{_name(loop)}  done in {span(result.seconds)}"])


def _name(loop: Any) -> str:
    """The directory of a run inside the protocol's."""
    return "/".join(loop.run.path.parts[-2:])


def choose_lines(*, quiet: bool, json: bool) -> Display:
    """The display for where the program writes; JSON leaves standard output alone.

    Args:
        quiet: Whether nothing shall be seen.
        json: Whether standard output is for JSON.
    """
    if quiet or (json and not sys.stderr.isatty()):
        return Display()
    return RunLines(Terminal(stderr=json))


def print_protocol(result: ProtocolResult, path: Path, plugins: Sequence[str] = ()) -> None:
    """Prints every search, every network and every seed, and whether searching was worth it."""
    terminal = Terminal()
    terminal.write(["", *_table("searches", _search_rows(result))])
    for name, arm in result.arms.items():
        terminal.write(["", *_table(name, _network_rows(arm, result.examples))])
    terminal.write([""])
    for name, arm in result.arms.items():
        for label, words in _arm_words(name, arm, result.measured_on):
            terminal.write(labelled(label, words, terminal.width))
    terminal.write(labelled("verdict", result.verdict, terminal.width))
    terminal.write(places(path))
    best = path / result.arms["found"].finals[0].run
    terminal.write(labelled("next", command("export", best, "--format", "onnx", plugins=plugins)))


def _search_rows(result: ProtocolResult) -> list[tuple[str, ...]]:
    head = ("seed", "supernet", "cell alone", "time", "network")
    return [
        head,
        *(
            (
                str(own.seed),
                _share(own.valid_accuracy),
                _share(own.discrete_accuracy),
                span(own.seconds),
                own.network,
            )
            for own in result.searches
        ),
    ]


def _network_rows(arm: Arm, examples: int) -> list[tuple[str, ...]]:
    head = ("network", "short", "end", "time", f"accuracies of {examples:,} held-out images")
    return [head, *(_network_row(own, arm) for own in arm.networks)]


def _network_row(network: NetworkFacts, arm: Arm) -> tuple[str, ...]:
    name = network.run.rpartition("/")[2]
    best = "the best" if name == arm.best else ""
    remark = best if network.dropped is None else f"dropped: {network.dropped}"
    return name, _share(network.short_accuracy), _share(network.accuracy), span(network.seconds), remark


def _arm_words(name: str, arm: Arm, part: str) -> Iterator[tuple[str, str]]:
    """Labels and values that say what an arm came to."""
    mean, deviation = arm.summary.mean, arm.summary.deviation
    spread = "" if deviation is None else f" +- {100 * deviation:.2f}"
    seeds = f"{arm.summary.count} seed{'s' if arm.summary.count > 1 else ''}"
    which = "test images" if part == TEST else "validation images, for there are no test images"
    each = ", ".join(f"{100 * own.accuracy:.2f}" for own in arm.finals)
    yield name, f"{100 * mean:.2f}{spread} % of {which}, {arm.best} with {seeds}: {each}"
    yield "", f"{arm.parameters:,} parameters, {arm.flops:,} FLOPs an image"
    spent = {key: span(value) for key, value in arm.seconds.items()}
    searching = f"{spent['search']} to search, " if arm.seconds["search"] else ""
    yield (
        "",
        f"{spent['total']}: {searching}{spent['choose']} to choose, {spent['final']} for the seeds",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"


def _table(label: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns, with a label before the first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [(label if not number else "").ljust(LABEL) + line for number, line in enumerate(lines)]
