"""Reports on disk: written once, after every epoch, or for as long as somebody else's run goes on."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dartboard.errors import RunError, one_line
from dartboard.report.load import DAMAGED, gather, runs_in
from dartboard.report.page import render
from dartboard.report.standing import find_oracles
from dartboard.runs import Run
from dartboard.search.hooks import LoopHook
from dartboard.utils.atomic import write_bytes

REPORT = "report.html"
"""What the report of a run is called in its directory."""
LOOK = 1.0
"""Seconds between two looks at runs that others write."""
log = logging.getLogger(__name__)


def write_report(
    runs: Sequence[str | Path], out: str | Path, *, live: bool = False, table: str | Path | None = None
) -> Path:
    """Writes one HTML file about runs, which needs no network and no other file, and returns its path.

    Args:
        runs: Directories of searches, trainings, protocols, benches and sweeps; several runs are compared.
        out: The file; one that is there is replaced.
        live: Whether the page shall look for a newer one of itself by itself.
        table: The file of a benchmark that does not ship with the package, to rank the cells with.

    Raises:
        DartboardError: If a directory is no run or is damaged, or the table is of no use.
    """
    material = gather(runs)
    oracles = find_oracles(material.searches, None if table is None else Path(table))
    try:
        page = render(material, oracles, live=live)
    except DAMAGED as error:
        names = ", ".join(map(str, runs))
        raise RunError(
            f"{names}: something in the files cannot be shown ({error!r}); were they edited?"
        ) from error
    write_bytes(Path(out), page.encode("utf-8", "backslashreplace"))  # names of files may be no text
    return Path(out)


def watch(
    runs: Sequence[str | Path],
    out: str | Path,
    *,
    table: str | Path | None = None,
    tell: Callable[[int], None] = lambda _: None,
) -> Path:
    """Writes a report again whenever one of its runs has come further, until none is running any more.

    Args:
        runs: As in `write_report`.
        out: The file.
        table: As in `write_report`.
        tell: Is told how often it has been written.
    """
    seen, count = None, 0
    while going(runs):
        if (now := _signs(runs)) != seen:
            try:
                write_report(runs, out, live=True, table=table)
            except RunError:  # one may just be taking back epochs; if it is damaged, the last time says so
                log.debug("a run changed while it was read", exc_info=True)
            else:
                seen, count = now, count + 1
                tell(count)
        time.sleep(LOOK)
    return write_report(runs, out, table=table)


def going(runs: Sequence[str | Path]) -> bool:
    """Whether a run is being written."""
    inside = (own for path in runs for own in runs_in(Path(path)))
    return any(Run.read(path).state == "running" for path in inside)


def _signs(runs: Sequence[str | Path]) -> list[tuple[str, int]]:
    """When the metrics of runs, and of runs inside them, were last written."""
    files = [file for path in runs for file in sorted(Path(path).rglob("metrics.jsonl"))]
    return [(str(file), file.stat().st_mtime_ns) for file in files]


class ReportHook(LoopHook[Any, Any, Any]):
    """Writes the report of a run after every epoch and at the end; a report that fails is only warned of.

    Args:
        run: The run around loops, whose report is written when it ends by whoever runs it; by default each
            loop has its own.
        live: Whether to write after every epoch too, a page that refreshes itself.
    """

    def __init__(self, run: Path | None = None, *, live: bool = False) -> None:
        self.run, self.live = run, live

    def on_epoch_end(self, loop: Any, record: Any) -> None:  # noqa: ARG002
        if self.live:
            self._write(loop, live=True)

    def on_end(self, loop: Any, result: Any) -> None:  # noqa: ARG002
        if self.run is None:
            self._write(loop, live=False)

    def _write(self, loop: Any, *, live: bool) -> None:
        path = self.run or (None if loop.run is None else loop.run.path)
        if path is not None and (mistake := try_report(path, live=live)) is not None:
            log.warning("%s", mistake)


def try_report(run: Path, *, live: bool = False) -> str | None:
    """Writes the report of a run into its directory; what went wrong, in words, instead of an error."""
    try:
        write_report([run], run / REPORT, live=live)
    except Exception as error:  # hours of searching are worth more than a page about them
        log.debug("no report", exc_info=True)
        return f"no report was written: {one_line(error)}"
    return None
