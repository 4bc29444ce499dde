"""What the hooks of all trackers share: what is recorded of a loop, and a thread that hands it over.

A tracker must neither stop nor slow a search. So the loop only collects numbers and drawings; a thread passes
them on, in order. The first error ends the recording with one warning, and the loop continues.
"""

import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.typing import NDArray

from dartboard.engine.hooks import LoopHook
from dartboard.errors import OptionError, RunError, one_line
from dartboard.relax.base import Strength
from dartboard.runs import flat
from dartboard.runs.text_files import read_object
from dartboard.search.record import EpochRecord, SearchResult
from dartboard.space import Genotype, SearchSpace
from dartboard.space.formats import GENOTYPE_FORMATS
from dartboard.utils import atomic
from dartboard.viz.cells import cell_figure

log = logging.getLogger(__name__)

NOT_SCALARS = ("epoch", "step", "warnings")
"""Metrics that are not recorded as scalars."""
FILES = ("config.yaml", "space.json", "result.json", "report.html")
"""Files of a run that are kept with its record at the end, where there are such."""
DPI = 150
"""Resolution of drawings, readable where a tracker enlarges them."""
CLOSE_SECONDS = 30.0
"""How long the end of a loop waits for each answer of a tracker."""

Drawing = NDArray[np.uint8]
"""An image [height, width, 3]."""


@dataclass(frozen=True)
class RunStart:
    """A loop that begins or continues.

    Args:
        kind: `search` or `train`.
        settings: All settings by dotted name.
        epochs: Metrics of the epochs before, as far as the run has them.
        epoch: The number of complete epochs.
        is_new: Whether no step has been taken.
        path: The run directory; None if there is none.
        outer: The run directory that contains it, such as that of a protocol, or the same one.
        drawing: The cell that a new training trains.
    """

    kind: str
    settings: Mapping[str, Any]
    epochs: tuple[Mapping[str, Any], ...]
    epoch: int
    is_new: bool
    path: Path | None
    outer: Path | None
    drawing: Drawing | None

    @property
    def inside(self) -> Path:
        """The path of the run inside the outer one."""
        return Path() if self.path is None or self.outer is None else self.path.relative_to(self.outer)

    @property
    def name(self) -> str | None:
        """The name of the run directory, after that of the outer one; None without a directory."""
        outer = self.outer or self.path
        return None if outer is None else (Path(outer.name) / self.inside).as_posix()

    @property
    def group(self) -> str | None:
        """The name of the run that contains this one, if there is one."""
        return None if self.outer is None or self.inside == Path() else self.outer.name


@dataclass(frozen=True)
class EpochLog:
    """What is recorded of an epoch, or of the result of a loop.

    Args:
        step: The number of complete epochs.
        scalars: Numbers by name, those of a group as group/name.
        texts: Warnings, and the genotype as JSON where it has changed.
        histograms: By name the values [N].
        drawings: By name; the cell where it has changed.
    """

    step: int
    scalars: Mapping[str, float]
    texts: Mapping[str, str] = field(default_factory=dict)
    histograms: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    drawings: Mapping[str, Drawing] = field(default_factory=dict)


class Session(ABC):
    """One run of a tracker, open; all calls come from one thread.

    Attributes:
        epochs: How many complete epochs it has; those are not recorded again.
    """

    epochs = 0

    @abstractmethod
    def log_epoch(self, epoch: EpochLog) -> None:
        """Records an epoch."""

    @abstractmethod
    def log_result(self, result: EpochLog) -> None:
        """Records the result."""

    def log_files(self, files: tuple[Path, ...]) -> None:  # noqa: B027  # not every tracker keeps files
        """Keeps files of a finished run."""

    @abstractmethod
    def close(self, *, finished: bool) -> None:
        """Ends the recording of a loop that is finished, or was interrupted and may continue."""


@dataclass
class RunFile:
    """The record of a run, as a file in the run directory remembers it, for the next process.

    Args:
        path: The file; None without a run directory.
        id: The tracker's name for it.
        epochs: How many complete epochs were recorded.
        result: Digest of the result that was recorded.
    """

    path: Path | None
    id: str | None = None
    epochs: int = 0
    result: str | None = None

    @classmethod
    def read(cls, folder: Path | None, name: str) -> "RunFile":
        """What the file says, or a new one.

        Raises:
            RunError: If it is damaged.
        """
        path = None if folder is None else folder / f"{name}.json"
        if path is None or not path.exists():
            return cls(path)
        values = read_object(path)
        known = cls(path, values.get("id"), values.get("epochs", 0), values.get("result"))
        kinds = ((known.id, str), (known.epochs, int), (known.result, str | None))
        if not all(isinstance(value, kind) for value, kind in kinds):
            raise RunError(f"{path} is damaged; remove it to record a new run")
        return known

    def write(self, **changes: Any) -> None:
        """Changes values, and writes the file if there is one."""
        for name, value in changes.items():
            setattr(self, name, value)
        if self.path is not None:
            values = {name: value for name, value in asdict(self).items() if name != "path"}
            atomic.write_text(self.path, json.dumps(values) + "\n")


class Recorder:
    """A thread that opens a session and passes on what it is given, until an error or the end.

    Attributes:
        failure: Why it has ended early, as one line; None as long as all is well.
    """

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self.failure: str | None = None
        self._open, self._answered = open_session, monotonic()
        self._calls: SimpleQueue[Callable[[Session], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="tracker", daemon=True)
        self._thread.start()

    def put(self, call: Callable[[Session], None]) -> None:
        """Queues a call of the session; returns at once."""
        self._calls.put(call)

    def finish(self, seconds: float) -> None:
        """Waits until all is passed on, for at most so long after each call."""
        start = monotonic()
        self._calls.put(None)
        while self._thread.is_alive() and (left := max(self._answered, start) + seconds - monotonic()) > 0:
            self._thread.join(left)
        if self._thread.is_alive():
            self.failure = f"no answer within {seconds:.0f} seconds"

    def _run(self) -> None:
        try:
            session = self._open()
            while (call := self._calls.get()) is not None:
                call(session)
                self._answered = monotonic()
        except Exception as error:  # whatever goes wrong in there, the search is worth more
            log.debug("a tracker failed", exc_info=True)
            self.failure = one_line(error)


class TrackerHook(LoopHook[Any, Any, Any], ABC):
    """Records loops with a tracker after every epoch; steps are complete epochs.

    Recorded on rank 0 alone, by a thread. If that fails, a warning says why, and the loop continues without.
    Best used in a `with`, at whose end the files of the run are complete; else closed at the end of the loop.

    Args:
        run: The run that contains those of the loops, such as a protocol.

    Raises:
        OptionError: If the tracker is not installed.
    """

    title: ClassVar[str]
    """Name of the tracker."""
    package: ClassVar[str]
    """What is imported, and the extra that installs it."""

    def __init__(self, run: str | Path | None = None) -> None:
        self.check_installed()
        self.run = None if run is None else Path(run).resolve()
        self._recorder: Recorder | None = None
        self._drawn: Genotype | None = None
        self._files: tuple[Path, ...] | None = None
        self._is_entered = self._has_failed = False

    @classmethod
    def check_installed(cls) -> None:
        """Raises OptionError with the command that installs the tracker, if it is not installed."""
        if find_spec(cls.package) is None:
            command = f"pip install 'dartboard[{cls.package}]'"
            raise OptionError(f"{cls.title} is not installed; get it with: {command}")

    @classmethod
    def check_place(cls, place: str) -> None:
        """Raises OptionError if nothing can be recorded in a folder, project or experiment of that name."""
        if not place.strip():
            raise OptionError("has no name; give one")

    @classmethod
    @abstractmethod
    def of_command(cls, place: str, run: Path) -> "TrackerHook":
        """The hook for the value of a flag and the run of a command."""

    @abstractmethod
    def open_session(self, start: RunStart) -> Session:
        """Opens the record of a run: a new one, or the one that an earlier process began."""

    def on_start(self, loop: Any) -> None:
        self.close()
        if loop.group.rank > 0 or self._has_failed:
            return
        with self._tolerant():
            start = _describe_start(loop, self.run)
            self._recorder = Recorder(lambda: self.open_session(start))
            for row in start.epochs:
                self._put_epoch(EpochLog(row["epoch"] + 1, scalars(row)))

    def on_step_end(self, loop: Any) -> None:  # noqa: ARG002
        if self._recorder is not None and self._recorder.failure is not None:
            self._fail(self._recorder.failure)

    def on_epoch_end(self, loop: Any, record: Any) -> None:
        if self._recorder is None:
            return
        with self._tolerant():
            texts = {"warnings": "\n\n".join(record.warnings)} if record.warnings else {}
            values: dict[str, NDArray[Any]] = {}
            drawings: dict[str, Drawing] = {}
            if isinstance(record, EpochRecord):
                values = {
                    f"strengths/{group}": strengths
                    for group, strengths in histograms(loop.space, record.strengths).items()
                }
                if record.genotype != self._drawn:  # drawing takes longer than everything else
                    texts["genotype"] = GENOTYPE_FORMATS["json"].encode(record.genotype)
                    drawings["cell"] = draw(record.genotype)
                    self._drawn = record.genotype
            self._put_epoch(EpochLog(record.epoch + 1, scalars(record.metrics), texts, values, drawings))

    def on_end(self, loop: Any, result: Any) -> None:
        if self._recorder is not None:
            with self._tolerant():
                facts = flat(result.facts())
                texts = {name: value for name, value in facts.items() if isinstance(value, str)}
                drawings = {}
                if isinstance(result, SearchResult):
                    texts["genotype"] = GENOTYPE_FORMATS["json"].encode(result.genotype)
                    drawings["chosen cell"] = draw(result.genotype)
                end = EpochLog(loop.epoch, numbers(facts), texts, drawings=drawings)
                self._recorder.put(lambda session: session.log_result(end))
            self._files = () if loop.run is None else tuple(loop.run.path / name for name in FILES)
        if not self._is_entered:
            self.close()

    def close(self) -> None:
        """Hands over what is left, waits a limited time for the tracker, and ends the record."""
        recorder, files = self._recorder, self._files
        self._recorder = self._drawn = self._files = None
        if recorder is None:
            return
        if files is not None:
            there = tuple(path for path in files if path.is_file())
            recorder.put(lambda session: session.log_files(there))
        recorder.put(lambda session: session.close(finished=files is not None))
        recorder.finish(CLOSE_SECONDS)
        if recorder.failure is not None:
            self._fail(recorder.failure)

    def __enter__(self) -> Self:
        self._is_entered = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_entered = False
        self.close()

    def _put_epoch(self, epoch: EpochLog) -> None:
        def log_new(session: Session) -> None:
            if epoch.step > session.epochs:
                session.log_epoch(epoch)
                session.epochs = epoch.step

        assert self._recorder is not None  # noqa: S101  # callers know
        self._recorder.put(log_new)

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Inside, an error ends the recording and not the loop."""
        try:
            yield
        except Exception as error:
            log.debug("a tracker failed", exc_info=True)
            self._fail(one_line(error))

    def _fail(self, reason: str) -> None:
        """Warns once, and records nothing from then on."""
        self._recorder = self._files = None
        if not self._has_failed:
            log.warning("%s records no more: %s", self.title, reason)
        self._has_failed = True


def _describe_start(loop: Any, outer: Path | None) -> RunStart:
    run, is_new = loop.run, loop.step == 0
    is_discrete = all(len(edge.ops) == 1 for _, cell in loop.space.groups for edge in cell.edges)
    config = loop.settings() if run is None else run.config
    return RunStart(
        kind=config.get("kind", "train" if is_discrete else "search"),
        settings=flat(config),
        epochs=() if run is None else tuple(run.metrics()),
        epoch=loop.epoch,
        is_new=is_new,
        path=None if run is None else run.path.resolve(),
        outer=None if run is None else outer,
        drawing=draw(loop.space) if is_new and is_discrete else None,
    )


def draw(cells: Genotype | SearchSpace) -> Drawing:
    """A drawing of cells."""
    figure = cell_figure(cells)
    figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(figure)  # matplotlib's is typed in part
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3]


def scalars(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of an epoch by name, those of a group as group/name."""
    plain = {name: value for name, value in metrics.items() if name not in (*NOT_SCALARS, "cells")}
    return numbers(flat(plain) | flat(metrics.get("cells") or {}))


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """The numbers among values with dotted names, with a slash for the dot."""
    return {
        name.replace(".", "/"): float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def histograms(space: SearchSpace, strengths: Mapping[str, Strength]) -> dict[str, NDArray[Any]]:
    """For each group the strengths of all candidates of its cell [candidates]."""
    return {
        group: np.concatenate(
            [
                row[: len(edge.ops)].detach().double().cpu().numpy()
                for row, edge in zip(strengths[group].ops, cell.edges, strict=True)
            ]
        )
        for group, cell in space.groups
    }
