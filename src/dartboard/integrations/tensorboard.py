"""Searches and trainings in TensorBoard: numbers, histograms of strengths and drawings of cells."""

from pathlib import Path

from dartboard.errors import OptionError
from dartboard.integrations.tracker import EpochLog, RunStart, Session, TrackerHook


class TensorBoardHook(TrackerHook):
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

    title = "TensorBoard"
    package = "tensorboard"

    def __init__(self, folder: str | Path, run: str | Path | None = None) -> None:
        super().__init__(run)
        self.folder = Path(folder)

    @classmethod
    def check_place(cls, place: str) -> None:
        if Path(place).exists() and not Path(place).is_dir():
            raise OptionError("is a file; name a folder")

    @classmethod
    def of_command(cls, place: str, run: Path) -> "TensorBoardHook":
        return cls(Path(place) / run.resolve().name, run)

    def open_session(self, start: RunStart) -> Session:
        return TensorBoardSession(self.folder / start.inside, start)


class TensorBoardSession(Session):
    """An event file; TensorBoard leaves out what older ones in the folder have of later steps."""

    def __init__(self, folder: Path, start: RunStart) -> None:
        from torch.utils.tensorboard import SummaryWriter  # only there with TensorBoard

        self.epochs = start.epoch
        self._writer = SummaryWriter(str(folder), purge_step=0 if start.is_new else start.epoch + 1)
        if start.drawing is not None:
            self._writer.add_image("cell", start.drawing, 0, dataformats="HWC")

    def log_epoch(self, epoch: EpochLog) -> None:
        writer = self._writer
        for name, value in epoch.scalars.items():
            writer.add_scalar(name, value, epoch.step)
        if "warnings" in epoch.texts:
            writer.add_text("warnings", epoch.texts["warnings"], epoch.step)
        for name, values in epoch.histograms.items():
            writer.add_histogram(name, values, epoch.step)
        for name, drawing in epoch.drawings.items():
            writer.add_image(name, drawing, epoch.step, dataformats="HWC")
        writer.flush()

    def log_result(self, result: EpochLog) -> None:
        for name, drawing in result.drawings.items():
            self._writer.add_image(name, drawing, result.step + 1, dataformats="HWC")

    def close(self, *, finished: bool) -> None:  # noqa: ARG002
        self._writer.close()
