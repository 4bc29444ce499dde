"""Sweeps whose drivers and workers are really killed, at random moments, until they are done.

`disturb` starts a driver and kills what it is told to, in turn: the driver, a worker that is at a run, or
whatever else a test adds to the targets. A driver that was killed is started again. `story` is all that a
sweep says in the end, to be compared with one that nobody disturbed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml

from dartboard.runs import Run, find_runs, is_locked
from helpers.protocol_cases import without_times

SLOWLY = str(Path(__file__).with_name("slowly.py").resolve())
"""A plugin, which is loaded and not imported."""
PACE = "SLOWLY_SECONDS"
PROGRAM = Path(sys.executable).with_name("dartboard")
PATIENCE = 600
"""A sweep that takes so many seconds is stuck."""
LOOK = 0.02

SETTINGS = {
    "batch": 16,
    "net.channels": 4,
    "weights.lr": 0.1,
    "checkpoint.steps": 2,
}
TRAINING = {
    "epochs": 2,
    "data.valid": 0.25,
    "net.auxiliary": 0,
    "net.drop_path": 0,
    "data.cutout": 0,
    "data.flip": False,
    "data.pad": 1,
}

Target = Callable[["subprocess.Popen[str]", Path, Random], bool]
"""Kills something of the sweep that a driver has in a directory; whether there was anything."""


def searches(data: str, seeds: str = "0..2", epochs: int = 3) -> dict[str, Any]:
    """A sweep of slow searches, of which one is stopped early."""
    own = {"data": data, "epochs": epochs, "method": "slow-darts", "health.examples": 16}
    stop = {"after": 1, "keep": 2}
    return {"settings": {**SETTINGS, **own}, "grid": {"seed": seeds}, "stop": stop, "tries": 3}


def stages(data: str) -> dict[str, Any]:
    """A sweep of the three stages of the protocol."""
    search = {"epochs": 2, "method": "slow-darts", "health.examples": 16}
    return {
        "settings": {**SETTINGS, "data": data},
        "stages": {
            "search": {"do": "search", "settings": search, "grid": {"seed": "0..1"}},
            "screen": {
                "do": "train",
                "cells": "search",
                "settings": {**TRAINING, "seed": 2},
                "stop": {"after": 1, "keep": 1},
            },
            "final": {
                "do": "train",
                "cells": "best of screen",
                "settings": TRAINING,
                "grid": {"seed": "0..1"},
            },
        },
    }


def write(path: Path, sweep: Mapping[str, Any]) -> Path:
    """A sweep in a file."""
    path.write_text(yaml.safe_dump(dict(sweep), sort_keys=False))
    return path


def command(file: Path, folder: Path, executor: str = "pool", *words: str) -> list[str]:
    """The program that drives a sweep, one thread a run."""
    own = [f"executor.{word}" for word in words]
    flags = ["--out", str(folder), "--executor", executor, "--threads", "1", "--plugin", SLOWLY]
    return [str(PROGRAM), "sweep", str(file), *own, *flags, "--quiet"]


def undisturbed(file: Path, folder: Path) -> dict[str, Any]:
    """The story of a sweep that is done in one process, and that nobody touches; quicker than slow."""
    environment = {**os.environ, PACE: "0"}
    done = subprocess.run(
        command(file, folder, "here"),
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return story(folder)


def story(folder: Path) -> dict[str, Any]:
    """All that a sweep and its runs say in the end, but for times."""
    lines = (folder / "results.jsonl").read_text().splitlines()
    rows = [{**json.loads(line), "path": None} for line in lines]
    decisions = folder / "decisions.json"
    runs = {str(path.relative_to(folder)): _said(path) for path in find_runs(folder)}
    decided = json.loads(decisions.read_text()) if decisions.is_file() else {}
    return dict(without_times({"rows": rows, "decisions": decided, "runs": runs}))


def _said(path: Path) -> list[Any]:
    run = Run.read(path)
    assert run.state != "running"
    rows = run.metrics()
    return [run.state, run.result(), rows, [run.epoch(row["epoch"]) for row in rows], run.config]


@dataclass(frozen=True)
class Kill:
    """A moment at which something was killed.

    Args:
        target: What.
        running: Which runs were under way.
    """

    target: str
    running: tuple[str, ...]


def holders(folder: Path) -> dict[str, int]:
    """By run that somebody is writing, the process that does."""
    found: dict[str, int] = {}
    for path in find_runs(folder):
        if is_locked(path):
            try:
                found[str(path.relative_to(folder))] = int(json.loads((path / "lock").read_text())["pid"])
            except (ValueError, KeyError):  # it has only just been taken
                continue
    return found


def kill_driver(driver: "subprocess.Popen[str]", folder: Path, rng: Random) -> bool:  # noqa: ARG001
    driver.kill()
    return driver.wait() == -signal.SIGKILL


def kill_worker(driver: "subprocess.Popen[str]", folder: Path, rng: Random) -> bool:
    found = sorted({pid for pid in holders(folder).values() if pid != driver.pid})
    if not found:
        return False
    try:
        os.kill(rng.choice(found), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


TARGETS: dict[str, Target] = {"driver": kill_driver, "worker": kill_worker}


def disturb(
    command: Sequence[str],
    folder: Path,
    rng: Random,
    kills: Sequence[str],
    *,
    targets: Mapping[str, Target] = TARGETS,
    spread: float = 1.0,
) -> list[Kill]:
    """Drives a sweep to its end, and kills something now and then; which, and when.

    Args:
        command: What drives it.
        folder: Its directory.
        rng: Says when.
        kills: What is killed, in turn: names of targets.
        targets: What can be killed, by name.
        spread: Seconds that pass at most between a moment at which a run is under way and the next kill.
    """
    left, done, until = list(kills), list[Kill](), time.monotonic() + PATIENCE
    while True:
        errors = folder.with_name(f"{folder.name}-errors.txt")
        with errors.open("w") as file:
            driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, text=True)
            try:
                done += _harass(driver, folder, rng, left, targets, spread, until)
                driver.wait(max(until - time.monotonic(), 1))
            finally:
                driver.kill()
                driver.wait()
        if driver.returncode == 0:
            return done
        assert driver.returncode == -signal.SIGKILL, errors.read_text()
        assert time.monotonic() < until, f"stuck after {done}: {errors.read_text()}"


def _harass(
    driver: "subprocess.Popen[str]",
    folder: Path,
    rng: Random,
    left: list[str],
    targets: Mapping[str, Target],
    spread: float,
    until: float,
) -> list[Kill]:
    """Kills what is left to be killed, as long as the driver lives."""
    done = []
    while left and driver.poll() is None and time.monotonic() < until:
        if not holders(folder):
            time.sleep(LOOK)
            continue
        time.sleep(rng.uniform(0, spread))
        running = tuple(holders(folder))
        if running and targets[left[0]](driver, folder, rng):
            done.append(Kill(left.pop(0), running))
    return done
