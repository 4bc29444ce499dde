"""Compares what a device computes with what the CPU computes: one row for each check."""

import importlib.util
import math
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Literal, TypeVar

import torch

from dartboard.diagnostics.ranks import run_in_processes
from dartboard.diagnostics.short_run import (
    CELL,
    SMALLEST,
    STEPS,
    Snapshot,
    StepSnapshots,
    can_compile,
    plain_float32,
    run_search,
    run_training,
)
from dartboard.errors import CompositionError, ModelError, one_line
from dartboard.export import FORMATS, export_model
from dartboard.export.models import TOLERANCE, noise_images
from dartboard.nn.model_file import Model
from dartboard.search.method import METHODS
from dartboard.utils.progress import Progress, no_progress

FULL = {"loss": 1e-4, "architecture": 1e-4, "weights": 1e-4}
"""Largest differences of float32 results, without TF32; see `compare`."""
HALF = {"loss": 0.1, "architecture": 0.2, "weights": 0.2}
"""Those of half precision, from the float32 results of the CPU."""
PRECISIONS = ("bf16", "fp16")
EXACT = {"loss": 0.0, "architecture": 0.0, "weights": 0.0}
PROCESSES = 2
TOGETHER = f"{PROCESSES} processes"
State = Literal["ok", "FAILED", "skipped"]
T = TypeVar("T")


class NotHereError(Exception):
    """A check that this machine or device cannot do; says why."""


@dataclass(frozen=True)
class CheckRow:
    """The result of one check.

    Args:
        check: What was checked.
        subject: The method, format or cell that it was checked with.
        state: `ok`, `FAILED` or `skipped`.
        seconds: How long it took, the CPU's part included.
        note: The error, the reason it was skipped, or a remark.
        differences: Largest difference from the CPU, of losses, architecture and weights.
        tolerances: The largest that are allowed.
    """

    check: str
    subject: str
    state: State
    seconds: float
    note: str = ""
    differences: Mapping[str, float] = field(default_factory=dict)
    tolerances: Mapping[str, float] = field(default_factory=dict)

    @property
    def worst(self) -> tuple[str, float, float] | None:
        """Name, difference and tolerance of what is nearest to its tolerance, or furthest beyond it."""

        def excess(name: str) -> float:
            value, allowed = self.differences[name], self.tolerances[name]
            if math.isnan(value):
                return math.inf
            return value / allowed if allowed else value * math.inf if value else 0.0

        if not self.differences:
            return None
        name = max(self.differences, key=excess)
        return name, self.differences[name], self.tolerances[name]

    def facts(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class DeviceDifferences:
    """Differences by name, each beside the largest that is allowed, and a remark."""

    differences: Mapping[str, float]
    tolerances: Mapping[str, float]
    note: str = ""

    def row(self, check: str, subject: str, seconds: float) -> CheckRow:
        """The row of a check; it failed if a difference is larger than allowed, or not a number."""
        ok = all(value <= self.tolerances[name] for name, value in self.differences.items())
        return CheckRow(
            check, subject, "ok" if ok else "FAILED", seconds, self.note, self.differences, self.tolerances
        )


def compare(actual: Snapshot, expected: Snapshot) -> dict[str, float]:
    """The largest difference of each part, relative to the largest value of a tensor where that is above 1.

    It is NaN where a number is not finite, and infinite where one of the two lacks a tensor.
    """
    differences = {}
    for part, tensors in expected.items():
        if actual[part].keys() != tensors.keys():
            differences[part] = math.inf
            continue
        largest = [0.0]
        for name, tensor in tensors.items():
            scale = max(1.0, float(tensor.abs().max()))
            largest.append(float((actual[part][name].double() - tensor.double()).abs().max()) / scale)
        differences[part] = math.nan if any(map(math.isnan, largest)) else max(largest)
    return differences


def same_decisions(actual: Snapshot, expected: Snapshot) -> tuple[int, int]:
    """The number of edges whose strongest op is the same in both, and the number of all edges."""
    pairs = [
        (actual["architecture"][name].argmax(-1), strengths.argmax(-1))
        for name, strengths in expected["architecture"].items()
        if strengths.dim() > 1
    ]
    return sum(int((a == b).sum()) for a, b in pairs), sum(len(b) for _, b in pairs)


def check_device(
    device: torch.device,
    methods: Sequence[str] | None = None,
    *,
    plugins: Sequence[str] = (),
    progress: Progress = no_progress,
) -> list[CheckRow]:
    """Runs all checks on a device, which never raise: what goes wrong in one is in its row.

    Args:
        device: The device that is compared with the CPU; the CPU itself is compared with a second run.
        methods: Names of the methods; None for all that are registered.
        plugins: Files that the processes of a search have to load first.
        progress: Is told how many checks are done.

    Raises:
        UnknownNameError: If there is no such method.
    """
    names = list(METHODS) if methods is None else list(dict.fromkeys(methods))
    for name in names:
        METHODS[name]  # fail fast on an unknown name
    with plain_float32(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its compiler and exporters
        return DeviceCheck(device, names, plugins, progress).run()


def _try(check: str, subject: str, act: Callable[[str], DeviceDifferences]) -> CheckRow:
    """The row of a check, whatever happens in it."""
    started = monotonic()
    try:
        comparison = act(subject)
    except (CompositionError, NotHereError) as error:
        return CheckRow(check, subject, "skipped", monotonic() - started, one_line(error))
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what the check has found
        note = f"{type(error).__name__}: {one_line(error)}"
        return CheckRow(check, subject, "FAILED", monotonic() - started, note)
    return comparison.row(check, subject, monotonic() - started)


class DeviceCheck:
    """The checks of one device, with the CPU's results that they share.

    Args:
        device: The device.
        methods: Names of the methods.
        plugins: Files that processes have to load.
        progress: Is told how many checks are done.
    """

    def __init__(
        self, device: torch.device, methods: Sequence[str], plugins: Sequence[str], progress: Progress
    ) -> None:
        self._device, self._methods, self._plugins, self._progress = device, methods, plugins, progress
        self._references: dict[str, StepSnapshots] = {}
        self._runs: dict[str, StepSnapshots] = {}
        self._missing = ""  # a kernel that has no deterministic form on this device
        self._model: Model | None = None

    def run(self) -> list[CheckRow]:
        """All rows."""
        checks: list[tuple[str, str, Callable[[str], DeviceDifferences]]] = []
        for name in self._methods:
            checks += [("search", name, self._search), ("resume", name, self._resume)]
            checks += [(precision, name, partial(self._half, precision)) for precision in PRECISIONS]
        checks += [("plain formula", name, self._plain) for name in self._methods[:1]]
        compiled = [name for name in self._methods if can_compile(name)]
        checks += [("compile", name, self._compile) for name in compiled[:1]]
        checks += [("train", CELL, self._train)]
        checks += [("export", name, self._export) for name in FORMATS]
        rows: list[CheckRow] = []
        total = len(checks) + len(self._methods)
        for check, subject, act in checks:
            self._progress(f"{check} {subject}", len(rows), total)
            rows.append(_try(check, subject, act))
        for row in self._processes():
            self._progress(f"{row.check} {row.subject}", len(rows), total)
            rows.append(row)
        return rows

    def _run(self, method: str, settings: Mapping[str, Any] | None = None, **options: Any) -> StepSnapshots:
        """A search on the device."""
        return self._deterministic(
            lambda chosen: run_search(method, self._device, {**chosen, **(settings or {})}, **options)
        )

    def _deterministic(self, run: Callable[[Mapping[str, Any]], T]) -> T:
        """Runs with settings for deterministic kernels, if the device has all that are needed."""
        try:
            return run({"deterministic": not self._missing})
        except RuntimeError as error:
            if self._missing or "deterministic" not in str(error):
                raise
            self._missing = str(error).split()[0]
        return run({"deterministic": False})

    def _reference(self, method: str) -> StepSnapshots:
        """What the CPU computes."""
        if method not in self._references:
            self._references[method] = run_search(method, torch.device("cpu"))
        return self._references[method]

    def _trained(self, method: str) -> Snapshot:
        """The CPU's state after the steps that are compared."""
        snapshots = self._reference(method).snapshots
        if STEPS not in snapshots:
            raise NotHereError("nothing is trained")
        return snapshots[STEPS]

    def _search(self, method: str) -> DeviceDifferences:
        reference = self._reference(method)
        run = self._runs[method] = self._run(method, steps=STEPS + 1)  # one more for `_resume`
        if not reference.snapshots:  # nothing is trained
            return DeviceDifferences({"choice": float(run.choice != reference.choice)}, {"choice": 0.0})
        return DeviceDifferences(compare(run.snapshots[STEPS], self._trained(method)), FULL)

    def _resume(self, method: str) -> DeviceDifferences:
        self._trained(method)
        if method not in self._runs:
            raise NotHereError("the search on this device failed")
        through = self._runs[method]
        resumed = self._run(method, steps=STEPS + 1, start=through.saved)
        differences = compare(resumed.snapshots[STEPS + 1], through.snapshots[STEPS + 1])
        if self._missing:
            return DeviceDifferences(differences, FULL, f"to rounding: {self._missing} is not deterministic")
        if self._device.type not in ("cpu", "cuda"):
            return DeviceDifferences(
                differences, FULL, f"to rounding: nothing is promised of {self._device.type}"
            )
        return DeviceDifferences(differences, EXACT, "bit for bit")

    def _half(self, precision: str, method: str) -> DeviceDifferences:
        expected = self._trained(method)
        actual = self._run(method, {"precision": precision}).snapshots[STEPS]
        same, edges = same_decisions(actual, expected)
        note = f"decides the same on {same} of {edges} edges"
        return DeviceDifferences(compare(actual, expected), HALF, note)

    def _plain(self, method: str) -> DeviceDifferences:
        expected = self._trained(method)
        run = self._run(method, {"net": {"mix": "plain"}})
        return DeviceDifferences(compare(run.snapshots[STEPS], expected), FULL)

    def _compile(self, method: str) -> DeviceDifferences:
        if self._device.type == "cpu" and not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
            raise NotHereError("torch.compile needs a C++ compiler")
        if self._device.type == "cuda" and importlib.util.find_spec("triton") is None:
            raise NotHereError("torch.compile needs the package triton")
        reference = run_search(method, torch.device("cpu"), space=SMALLEST)
        run = self._run(method, {"compile": True}, space=SMALLEST)
        return DeviceDifferences(compare(run.snapshots[STEPS], reference.snapshots[STEPS]), FULL)

    def _train(self, _: str) -> DeviceDifferences:
        reference, _model = run_training(torch.device("cpu"))
        run, self._model = self._deterministic(partial(run_training, self._device))
        return DeviceDifferences(compare(run.snapshots[STEPS], reference.snapshots[STEPS]), FULL)

    def _export(self, name: str) -> DeviceDifferences:
        """Writes the network that was trained, and runs what was written, on the device."""
        if self._model is None:
            raise NotHereError("the training on this device failed")
        images = noise_images(self._model).to(self._device)
        with TemporaryDirectory(prefix="dartboard-") as folder, torch.no_grad():
            path = Path(folder) / f"checked{FORMATS[name].suffix}"
            try:
                export_model(self._model, path, name)
                network = FORMATS[name].load(path, self._device)
            except ModelError as error:
                if "pip install" not in str(error):
                    raise
                raise NotHereError(one_line(error)) from None
            expected = self._model.net.eval()(images)
            logits = compare(
                {"logits": {"": network.forward(images).cpu()}}, {"logits": {"": expected.cpu()}}
            )
        return DeviceDifferences(logits, {"logits": TOLERANCE})

    def _processes(self) -> Iterator[CheckRow]:
        """A row for each method that is trained, searched by two processes together."""
        trained = [name for name in self._methods if self._references.get(name, StepSnapshots()).snapshots]
        reason = ""
        if self._device.type == "cuda" and torch.cuda.device_count() < PROCESSES:
            reason = f"{PROCESSES} processes need a GPU each, and there is {torch.cuda.device_count()}"
        elif self._device.type not in ("cpu", "cuda"):
            reason = f"torch has no process groups for {self._device.type}"
        if reason:
            for name in trained:
                yield CheckRow(TOGETHER, name, "skipped", 0.0, reason)
            return
        settings = {"sync_norms": True, "deterministic": not self._missing}
        results = run_in_processes(trained, self._device, settings, plugins=self._plugins, count=PROCESSES)
        for name, result in zip(trained, results, strict=True):
            if result.snapshot is None:
                yield CheckRow(TOGETHER, name, "FAILED", result.seconds, result.error)
                continue
            comparison = DeviceDifferences(compare(result.snapshot, self._trained(name)), FULL)
            yield comparison.row(TOGETHER, name, result.seconds)
