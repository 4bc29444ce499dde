"""What a search came to, laid out for people."""

import shlex
from pathlib import Path

from dartboard.cli.report import draw_cells, labelled
from dartboard.cli.terminal import Terminal
from dartboard.cli.words import span
from dartboard.search.record import Result


def print_outcome(result: Result, path: Path) -> None:
    """Prints the cells that were found, how well the supernet does, and what to do next."""
    terminal = Terminal()
    terminal.write(["", *draw_cells(result.genotype.archs, terminal), ""])
    if result.valid_accuracy is not None:
        alone = (
            ""
            if result.discrete_accuracy is None
            else f"; {result.discrete_accuracy:.1%} with the cell alone"
        )
        words = f"{result.valid_accuracy:.1%} of held-out images, by the supernet{alone}"
        terminal.write(labelled("accuracy", words))
    terminal.write(labelled("entropy", f"{result.entropy:.3f}"))
    terminal.write(labelled("time", f"{span(result.seconds)}, {result.epochs} epochs"))
    for warning in result.warnings:
        terminal.write(labelled("warning", warning, terminal.width))
    terminal.write(labelled("run", str(path)))
    terminal.write(labelled("next", shlex.join(["dartboard", "info", str(path)])))
