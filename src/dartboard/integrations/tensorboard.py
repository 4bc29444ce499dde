"""Searches and trainings in TensorBoard: numbers, histograms of strengths and drawings of cells."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch

from dartboard.engine.hooks import LoopHook
from dartboard.errors import OptionError
from dartboard.relax.base import Strength
from dartboard.runs import flat
from dartboard.search.record import EpochRecord, SearchResult
from dartboard.space import Genotype, SearchSpace
from dartboard.viz.cells import cell_figure

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

NOT_SCALARS = ("epoch", "step", "warnings")
"""Metrics that are not written as scalars."""
DPI = 150
"""Resolution of drawings, readable where TensorBoard enlarges them."""


def check_installed() -> None:
    """Raises OptionError with the command to install TensorBoard, if it is not installed."""
    if find_spec("tensorboard") is None:
        raise OptionError("TensorBoard is not installed; get it with: pip install 'dartboard[tensorboard]'")


class TensorBoardHook(LoopHook[Any, Any, Any]):
    """Writes event files for TensorBoard after every epoch; steps are complete epochs.

    A loop that is resumed with the same folder continues its curves: repeated epochs replace those written
    before. Closed at the end of the loop, or of a `with`.

    Args:
        folder: The log directory; created if it does not exist.
        run: The run that contains those of the loops, such as a protocol: each loop then writes to a
            subfolder named after its run; the loop of that run itself writes to `folder`.

    Raises:
        OptionError: If TensorBoard is not installed.
    """

    def __init__(self, folder: str | Path, run: str | Path | None = None) -> None:
        check_installed()
        self.folder, self.run = Path(folder), None if run is None else Path(run).resolve()
        self._writer: SummaryWriter | None = None
        self._drawn: Genotype | None = None

    def on_start(self, loop: Any) -> None:
        from torch.utils.tensorboard import SummaryWriter  # only there with TensorBoard

        is_new, folder = loop.step == 0, self.folder
        if self.run is not None and loop.run is not None:
            folder /= loop.run.path.resolve().relative_to(self.run)
        self.close()
        self._writer = SummaryWriter(str(folder), purge_step=0 if is_new else loop.epoch + 1)
        if is_new and all(len(edge.ops) == 1 for _, cell in loop.space.groups for edge in cell.edges):
            self._add_figure("cell", loop.space, 0)

    def on_epoch_end(self, loop: Any, record: Any) -> None:
        assert self._writer is not None  # noqa: S101  # opened by `on_start`
        writer, step = self._writer, record.epoch + 1
        for name, value in scalars(record.metrics).items():
            writer.add_scalar(name, value, step)
        if record.warnings:
            writer.add_text("warnings", "\n\n".join(record.warnings), step)
        if isinstance(record, EpochRecord):
            for group, values in histograms(loop.space, record.strengths).items():
                writer.add_histogram(f"strengths/{group}", values, step)
            self._draw("cell", record.genotype, step)
        writer.flush()

    def on_end(self, loop: Any, result: Any) -> None:
        if isinstance(result, SearchResult):
            self._drawn = None
            self._draw("chosen cell", result.genotype, loop.epoch + 1)
        self.close()

    def close(self) -> None:
        """Flushes and closes the event file."""
        if self._writer is not None:
            self._writer.close()
        self._writer = self._drawn = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self, name: str, genotype: Genotype, step: int) -> None:
        """Draws a cell unless it was drawn last: drawing takes longer than everything else."""
        if genotype != self._drawn:
            self._add_figure(name, genotype, step)
            self._drawn = genotype

    def _add_figure(self, name: str, cells: Genotype | SearchSpace, step: int) -> None:
        assert self._writer is not None  # noqa: S101  # opened by `on_start`
        figure = cell_figure(cells)
        figure.set_dpi(DPI)
        self._writer.add_figure(name, figure, step)


def scalars(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an epoch by name, those of a group as group/name."""
    scalars = {name: value for name, value in metrics.items() if name not in (*NOT_SCALARS, "cells")}
    numbers = flat(scalars) | flat(metrics.get("cells") or {})
    return {
        name.replace(".", "/"): float(value)
        for name, value in numbers.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def histograms(space: SearchSpace, strengths: Mapping[str, Strength]) -> dict[str, torch.Tensor]:
    """For each group the strengths of all candidates of its cell [candidates]."""
    return {
        group: torch.cat(
            [row[: len(edge.ops)] for row, edge in zip(strengths[group].ops, cell.edges, strict=True)]
        )
        .detach()
        .cpu()
        for group, cell in space.groups
    }
