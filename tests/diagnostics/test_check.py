"""The check of a device, on a CPU that plays another device where it is called cpu:0."""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from dartboard.diagnostics import CheckRow, check, check_device
from dartboard.diagnostics.check import EXACT, FULL, DeviceCheck, compare
from dartboard.diagnostics.short_run import STEPS, StepSnapshots, can_compile, run_search
from dartboard.errors import UnknownNameError
from dartboard.search import METHODS, make_method
from dartboard.utils.progress import no_progress

CPU, FAKE = torch.device("cpu"), torch.device("cpu", 0)
pytestmark = pytest.mark.usefixtures("one_thread")
Change = Callable[[pytest.MonkeyPatch, Mapping[str, Any]], None]


@pytest.fixture
def few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other processes, no compiler, and one format."""
    monkeypatch.setattr(check, "run_in_processes", lambda *_, **__: iter(()))
    monkeypatch.setattr(check, "can_compile", lambda _: False)
    monkeypatch.setattr(check, "FORMATS", {"torchscript": check.FORMATS["torchscript"]})
    monkeypatch.setattr(DeviceCheck, "_processes", lambda _: iter(()))


def alter_device(monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Has searches on the fake device run after a change, which is called with their settings."""

    def run(method: str, device: torch.device, settings: Any = None, **options: Any) -> StepSnapshots:
        with pytest.MonkeyPatch.context() as patch:
            if device == FAKE:
                change(patch, settings or {})
            return run_search(method, device, settings, **options)

    monkeypatch.setattr(check, "run_search", run)


def by_check(rows: list[CheckRow]) -> dict[str, CheckRow]:
    return {row.check: row for row in rows}


@pytest.mark.usefixtures("few_checks")
def test_a_device_that_computes_the_same() -> None:
    seen: list[tuple[str, int, int]] = []
    rows = check_device(FAKE, ["gdas", "random"], progress=lambda *facts: seen.append(facts))
    states = {(row.check, row.subject): row.state for row in rows}
    assert states == {
        ("search", "gdas"): "ok",
        ("resume", "gdas"): "ok",
        ("bf16", "gdas"): "ok",
        ("fp16", "gdas"): "ok",
        ("search", "random"): "ok",
        ("resume", "random"): "skipped",
        ("bf16", "random"): "skipped",
        ("fp16", "random"): "skipped",
        ("plain formula", "gdas"): "ok",
        ("train", "darts-v2"): "ok",
        ("export", "torchscript"): "ok",
    }
    found = by_check(rows[:4])
    assert found["search"].differences == EXACT
    assert (found["resume"].tolerances, found["resume"].note) == (EXACT, "bit for bit")
    assert 0 < found["bf16"].differences["weights"] < found["bf16"].tolerances["weights"]
    assert [done for _, done, _ in seen] == list(range(len(rows)))


@pytest.mark.usefixtures("few_checks")
def test_a_broken_op_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An average pooling that counts its padding, as another device might."""
    pool = F.avg_pool2d

    def change(patch: pytest.MonkeyPatch, _: Mapping[str, Any]) -> None:
        patch.setattr(F, "avg_pool2d", lambda *args, **_: pool(*args, count_include_pad=True))

    alter_device(monkeypatch, change)
    rows = by_check(check_device(FAKE, ["gaea-darts-erm"]))
    row = rows["search"]
    assert row.state == "FAILED"
    assert row.worst is not None
    name, difference, allowed = row.worst
    assert difference == row.differences[name] > allowed == FULL[name]
    assert rows["resume"].state == "ok"  # it resumes as it runs through


@pytest.mark.usefixtures("few_checks")
def test_a_method_that_is_not_the_same_twice_is_found() -> None:
    made = []

    @METHODS.register("restless")
    def restless() -> Any:
        """GDAS with another rate each time."""
        made.append(1)
        return make_method("gdas", {"lr": 0.1 * len(made)})

    row = check_device(FAKE, ["restless"])[0]
    assert row.state == "FAILED"
    assert row.differences["architecture"] > 0.01
    assert row.worst is not None
    assert row.worst[0] == "architecture"


@pytest.mark.usefixtures("few_checks")
def test_an_error_is_a_row_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(_: pytest.MonkeyPatch, settings: Mapping[str, Any]) -> None:
        if "precision" not in settings:
            raise RuntimeError("no kernel image\n is available")

    alter_device(monkeypatch, change)
    rows = by_check(check_device(FAKE, ["random-ws"]))
    assert rows["search"].state == rows["plain formula"].state == "FAILED"
    assert rows["search"].note == "RuntimeError: no kernel image is available"
    assert rows["search"].worst is None
    assert (rows["resume"].state, rows["resume"].note) == ("skipped", "the search on this device failed")
    assert rows["bf16"].state == rows["train"].state == "ok"


@pytest.mark.usefixtures("few_checks")
def test_kernels_that_are_not_deterministic_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(_: pytest.MonkeyPatch, settings: Mapping[str, Any]) -> None:
        if settings["deterministic"]:
            raise RuntimeError("some_backward_cuda does not have a deterministic implementation, but you set")

    alter_device(monkeypatch, change)
    rows = by_check(check_device(FAKE, ["random-ws"]))
    assert (rows["search"].state, rows["resume"].state) == ("ok", "ok")
    assert rows["resume"].note == "to rounding: some_backward_cuda is not deterministic"
    assert rows["resume"].tolerances == FULL


PLUGIN = """
import os

from dartboard.search import METHODS, make_method


@METHODS.register("{name}")
def alone():
    '''Random search with shared weights, which fails on one rank.'''
    if os.environ.get("RANK") == "1":
        raise ValueError("not on rank 1")
    return make_method("random-ws")
"""


def test_processes_that_fail_leave_the_rest_to_others(tmp_path: Any) -> None:
    from dartboard.plugins import load_plugin

    file = tmp_path / "alone.py"
    file.write_text(PLUGIN.format(name="fails-on-a-rank"))
    checked = DeviceCheck(CPU, ["fails-on-a-rank", "random-ws"], [load_plugin(str(file))], no_progress)
    for name in ("fails-on-a-rank", "random-ws"):
        checked._reference(name)
    bad, good = checked._processes()
    assert (bad.state, bad.note) == ("FAILED", "ValueError: not on rank 1")
    assert good.state == "ok"
    assert 0 < good.differences["weights"] < FULL["weights"]


def test_devices_that_cannot_have_two_processes() -> None:
    checked = DeviceCheck(torch.device("mps"), ["random-ws"], [], no_progress)
    checked._references["random-ws"] = StepSnapshots({STEPS: {}})
    (row,) = checked._processes()
    assert (row.state, row.note) == ("skipped", "torch has no process groups for mps")


def test_differences() -> None:
    one = {"loss": {"a": torch.tensor([1.0, 2.0])}, "weights": {}}
    assert compare(one, one) == {"loss": 0.0, "weights": 0.0}
    other = {"loss": {"a": torch.tensor([1.0, 2.5])}, "weights": {}}
    assert compare(other, one)["loss"] == 0.25  # relative, as the largest value is 2
    assert math.isnan(compare({"loss": {"a": torch.tensor([math.nan, 2.0])}, "weights": {}}, one)["loss"])
    assert compare({"loss": {"b": torch.tensor([1.0])}, "weights": {}}, one)["loss"] == math.inf


@pytest.mark.parametrize("value", [math.nan, math.inf, 2e-4])
def test_what_is_not_finite_is_never_ok(value: float) -> None:
    row = check.DeviceDifferences({"loss": 0.0, "weights": value}, FULL).row("search", "darts", 1.0)
    assert row.state == "FAILED"
    assert row.worst is not None
    assert row.worst[0] == "weights"


def test_what_can_be_compiled() -> None:
    assert can_compile("darts")
    assert not can_compile("gdas")
    assert not can_compile("evolution")  # it cannot even be made without an oracle


def test_an_unknown_method() -> None:
    with pytest.raises(UnknownNameError, match="no method called 'dart'; did you mean 'darts'"):
        check_device(CPU, ["dart"])


@pytest.fixture(autouse=True)
def no_methods_left() -> Iterator[None]:
    before = set(METHODS)
    yield
    for name in set(METHODS) - before:
        del METHODS._values[name], METHODS._origins[name]
    assert "RANK" not in os.environ
