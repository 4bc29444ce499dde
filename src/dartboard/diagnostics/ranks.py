"""Searches in several processes at a time: what starts them, and what each of them runs."""

import faulthandler
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import torch

from dartboard.diagnostics.short_run import STEPS, Snapshot, plain_float32, run_search
from dartboard.distributed import end_with_launcher, launch
from dartboard.distributed.process_group import join_group
from dartboard.errors import one_line
from dartboard.plugins import load_plugin
from dartboard.runs.checkpoint import from_bytes, to_bytes
from dartboard.utils.atomic import write_bytes

PROGRAM = "from dartboard.diagnostics.ranks import main; main()"
PATIENCE = 120.0
"""Seconds that a search may take before its processes are taken to wait for each other for ever."""
SIGNALED = 128  # a shell adds the number of the signal


@dataclass(frozen=True)
class RankResult:
    """What several processes have computed of a method.

    Args:
        snapshot: The state after `STEPS` steps; None if they failed.
        seconds: How long it took.
        error: Why they failed.
    """

    snapshot: Snapshot | None
    seconds: float
    error: str = ""


def run_in_processes(
    methods: Sequence[str],
    device: torch.device,
    settings: Mapping[str, Any],
    *,
    plugins: Sequence[str] = (),
    count: int = 2,
) -> Iterator[RankResult]:
    """The result of each method, searched by `count` processes of this machine.

    All methods are searched by the same processes; where one fails, others are started for the rest.

    Args:
        methods: Names of the methods.
        device: The CPU, or any GPU: each process takes one.
        settings: Settings of the searches.
        plugins: Files that register methods.
        count: The number of processes.
    """
    left = list(methods)
    while left:
        with TemporaryDirectory(prefix="dartboard-") as folder:
            started = monotonic()
            words = [json.dumps(value) for value in (left, dict(settings), list(plugins))]
            if launch(count, [device.type, folder, *words], PROGRAM) > SIGNALED:
                raise KeyboardInterrupt
            results = sorted(Path(folder).glob("*.result"))
            for path in results:
                state = from_bytes(path.read_bytes())
                yield RankResult(state["snapshot"], state["seconds"])
            # the first to fail has the cause; the others lose their connection to it
            files = sorted(Path(folder).glob("*.error"), key=lambda path: path.stat().st_mtime_ns)
            errors = [path.read_text() for path in files]
        left = left[len(results) :]
        if left:
            error = errors[0] if errors else "a process was ended, or waited for others without end"
            yield RankResult(None, monotonic() - started, error)
            left = left[1:]


def main() -> None:
    """Searches with all methods that the command line names, as one of several processes."""
    kind, folder, *words = sys.argv[1:]
    methods, settings, plugins = map(json.loads, words)
    rank = int(os.environ["RANK"])
    end_with_launcher()
    device = torch.device(kind, rank) if kind == "cuda" else torch.device(kind)
    if kind == "cuda":
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    try:
        for file in plugins:
            load_plugin(file)
        with plain_float32(), join_group(device) as group:
            for number, method in enumerate(methods):
                faulthandler.dump_traceback_later(PATIENCE, exit=True)
                started = monotonic()
                run = run_search(method, device, settings, group=group)
                if not rank:
                    state = {"snapshot": run.snapshots[STEPS], "seconds": monotonic() - started}
                    write_bytes(Path(folder) / f"{number:04}.result", to_bytes(state))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what the check has found
        (Path(folder) / f"{rank}.error").write_text(f"{type(error).__name__}: {one_line(error)}")
        os._exit(1)  # without waiting for other ranks, which the launcher ends
