"""`dartboard check`: its table, its JSON and its exit codes."""

import json
import math
from typing import Any

import pytest
import torch

import dartboard
from dartboard import diagnostics
from dartboard.cli.main import main
from dartboard.diagnostics import CheckRow
from dartboard.diagnostics.check import EXACT, FULL
from dartboard.search import METHODS
from helpers.console import Capture, error_line

ROWS = [
    CheckRow("search", "darts", "ok", 1.25, "", {"loss": 1e-7, "weights": 2e-6}, FULL),
    CheckRow("resume", "darts", "ok", 0.5, "bit for bit", {"loss": 0.0, "weights": 0.0}, EXACT),
    CheckRow("2 processes", "darts", "skipped", 0.0, "there is one GPU"),
]
BAD = CheckRow("bf16", "darts", "FAILED", 2.0, "", {"loss": math.nan, "weights": 0.0}, FULL)


def give(monkeypatch: pytest.MonkeyPatch, rows: list[CheckRow]) -> None:
    def check_device(device: torch.device, methods: Any, **_: Any) -> list[CheckRow]:
        assert (device.type, methods) == ("cpu", ["darts"])
        return rows

    monkeypatch.setattr(diagnostics, "check_device", check_device)


def test_the_table(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    give(monkeypatch, ROWS)
    assert main(["check", "--device", "cpu", "--only", "darts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"dartboard      {dartboard.__version__}", f"torch          {torch.__version__}"]
    assert [line.split()[0] for line in lines[2:5]] == ["python", "system", "device"]
    assert [line.rstrip() for line in lines[5:]] == [
        "",
        "check        of     result   difference       allowed  seconds",
        "search       darts  ok       2.0e-06 weights  1e-04    1.2",
        "resume       darts  ok       0.0e+00 loss     0e+00    0.5      bit for bit",
        "2 processes  darts  skipped                            0.0      there is one GPU",
        "",
        "3 checks: 2 ok, 1 skipped",
    ]


def test_a_failure_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    give(monkeypatch, [*ROWS, BAD])
    assert main(["check", "--device", "cpu", "--only", "darts"]) == 1
    assert "bf16         darts  FAILED   nan loss" in capsys.readouterr().out
    assert main(["check", "--device", "cpu", "--only", "darts", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["ok"] is False
    assert facts["machine"]["torch"] == torch.__version__
    assert facts["checks"][3] == {
        "check": "bf16",
        "subject": "darts",
        "state": "FAILED",
        "seconds": 2.0,
        "note": "",
        "differences": {"loss": None, "weights": 0.0},
        "tolerances": FULL,
    }


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(capsys: Capture) -> None:
    line = error_line(capsys, "check", "--device", "cuda")
    assert line.startswith("--device cuda cannot be used: ")
    assert line.endswith("; cpu always can")


def test_an_unknown_method(capsys: Capture) -> None:
    line = error_line(capsys, "check", "--device", "cpu", "--only", "dart")
    assert line == "no method called 'dart'; did you mean 'darts'?"


@pytest.mark.slow
def test_the_cpu_passes_every_check(capsys: Capture) -> None:
    code = main(["check", "--device", "cpu", "--threads", "1", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [row for row in checks if row["state"] == "FAILED"] == []
    assert code == 0
    searched = [row["subject"] for row in checks if row["check"] == "search"]
    assert searched == list(METHODS)
    skipped = {(row["check"], row["subject"]) for row in checks if row["state"] == "skipped"}
    assert {subject for check, subject in skipped if check not in ("export", "compile")} <= {
        "random",
        "evolution",
    }
    together = [row["subject"] for row in checks if row["check"] == "2 processes"]
    assert set(searched) - set(together) == {"random", "evolution"}
