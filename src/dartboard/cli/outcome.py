"""What a search or a training came to, laid out for people."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from dartboard.cli.report import draw_cells, labelled
from dartboard.cli.terminal import Terminal
from dartboard.cli.words import span
from dartboard.nn.evaluation import TOP, Evaluation
from dartboard.report import REPORT
from dartboard.search.record import Result
from dartboard.train import TrainResult
from dartboard.train.build import VALID
from dartboard.utils.text import command


def print_outcome(result: Result, path: Path, plugins: Sequence[str] = ()) -> None:
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
    terminal.write(places(path))
    terminal.write(labelled("next", command("train", path, "--recipe", "quick", plugins=plugins)))


def print_training(result: TrainResult, path: Path, plugins: Sequence[str] = ()) -> None:
    """Prints how good the network is, how large, and what to do next."""
    terminal = Terminal()
    terminal.write([""])
    for part, found in result.last.items():
        terminal.write(labelled(part, _accuracy(found)))
    best = result.best[result.measured_on]
    words = f"{best.top1:.2%} of {result.measured_on} images, after epoch {result.best_epoch + 1}"
    chosen = "" if result.measured_on == VALID else "; chosen by the test images themselves, so too good"
    terminal.write(labelled("best", words + chosen))
    terminal.write(labelled("network", f"{result.parameters:,} parameters, {result.flops:,} FLOPs an image"))
    terminal.write(labelled("time", f"{span(result.seconds)}, {result.epochs} epochs"))
    terminal.write(places(path))
    terminal.write(labelled("next", command("export", path, "--format", "onnx", plugins=plugins)))


def places(path: Path) -> list[Text]:
    """Where the run is, and the page about it if there is one."""
    report = path / REPORT
    return [*labelled("run", str(path)), *(labelled("report", str(report)) if report.is_file() else [])]


def _accuracy(found: Evaluation) -> str:
    five = f", {found.top5:.2%} among the first five" if len(found.confusion) > TOP else ""
    return f"{found.top1:.2%} of {found.examples:,} images{five}, loss {found.loss:.4f}"
