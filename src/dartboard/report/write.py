"""Writes reports: once, after every epoch, or for as long as runs of other processes go on."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dartboard.engine.hooks import LoopHook
from dartboard.errors import RunError, one_line
from dartboard.report.load import DAMAGED, find_tables, load_runs, run_paths
from dartboard.report.page import render
from dartboard.runs import RunReader
from dartboard.utils.atomic import write_bytes

REPORT = "report.html"
"""File name of a report in its run directory."""
POLL_INTERVAL = 1.0
"""Seconds between two checks of runs that other processes write."""
log = logging.getLogger(__name__)


def write_report(
    runs: Sequence[str | Path], out: str | Path, *, live: bool = False, table: str | Path | None = None
) -> Path:
    """Writes one HTML file about runs that needs no network and no other file, and returns its path.

    Args:
        runs: Directories of searches, trainings, protocols, benches and sweeps; several runs are compared.
        out: The file; an existing one is replaced.
        live: Whether the page reloads itself.
        table: The file of a benchmark table that does not ship with the package, to rank cells.

    Raises:
        DartboardError: If a directory is not a run or is damaged, or the table cannot be used.
    """
    loaded = load_runs(runs)
    tables = find_tables(loaded.searches, None if table is None else Path(table))
    try:
        page = render(loaded, tables, live=live)
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
    on_write: Callable[[int], None] = lambda _: None,
) -> Path:
    """Writes a report again whenever one of its runs has progressed, until none is running.

    Args:
        runs: As in `write_report`.
        out: The file.
        table: As in `write_report`.
        on_write: Called after each writing with the number of times it has been written.
    """
    written, count = None, 0
    while any(RunReader.read(path).state == "running" for run in runs for path in run_paths(Path(run))):
        files = [file for run in runs for file in sorted(Path(run).rglob("metrics.jsonl"))]
        modified = [(file, file.stat().st_mtime_ns) for file in files]
        if modified != written:
            try:
                write_report(runs, out, live=True, table=table)
            except RunError:  # a run may be rolling back epochs; if it is damaged, the last writing raises
                log.debug("a run changed while it was read", exc_info=True)
            else:
                written, count = modified, count + 1
                on_write(count)
        time.sleep(POLL_INTERVAL)
    return write_report(runs, out, table=table)


class ReportHook(LoopHook[Any, Any, Any]):
    """Writes the report of a run at the end, or after every epoch too; failures are logged as warnings.

    Args:
        run: The run that contains the runs of loops; its final report is written by its owner. By default
            each loop has its own report.
        live: Whether to write after every epoch too, a page that reloads itself.
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
        if path is not None and (message := try_report(path, live=live)) is not None:
            log.warning("%s", message)


def try_report(run: Path, *, live: bool = False) -> str | None:
    """Writes the report of a run into its directory; returns a message instead of raising an error."""
    try:
        write_report([run], run / REPORT, live=live)
    except Exception as error:  # hours of searching are worth more than a page about them
        log.debug("no report", exc_info=True)
        return f"no report was written: {one_line(error)}"
    return None
