import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import RunError
from dartboard.scale.plan import Planned
from dartboard.scale.results import CSV, LINES, SUMMARY, read_results, row_of, summary, write_results
from dartboard.scale.work import work
from protocols import few
from sweeps import search_job, train_job


def row(name: str, seed: int, accuracy: float | None, state: str = "finished", **more: Any) -> dict[str, Any]:
    settings = {"method.name": name}
    found = {
        "name": f"search/{name}-s{seed}",
        "stage": "search",
        "do": "search",
        "state": state,
        "reason": "",
    }
    return found | {"seed": seed, "settings": settings, "seconds": 2.0, "valid_accuracy": accuracy, **more}


ROWS = [
    row("darts", 0, 0.5),
    row("darts", 1, 0.7),
    row("gdas", 0, 0.4),
    row("gdas", 1, None, "failed"),
    row("xnas", 0, 0.9, test_accuracy=0.6),
]


def test_a_summary_is_over_seeds() -> None:
    darts, gdas, xnas = summary(ROWS)
    assert (darts.label, darts.runs, darts.finished, darts.measured_on) == ("darts", 2, 2, "valid")
    assert darts.mean == pytest.approx(0.6)
    assert darts.deviation == pytest.approx(0.02**0.5)
    assert (darts.low, darts.high) == (0.5, 0.7)
    assert (gdas.runs, gdas.finished, gdas.mean, gdas.deviation, gdas.low) == (2, 1, 0.4, None, None)
    assert (xnas.measured_on, xnas.mean) == ("test", 0.6)


def test_points_where_nothing_is_finished() -> None:
    [own] = summary([row("gdas", 1, None, "failed")])
    assert (own.mean, own.deviation, own.seconds) == (None, None, None)


def test_tables_are_written_and_read_again(tmp_path: Path) -> None:
    write_results(tmp_path, ROWS)
    assert read_results(tmp_path) == ROWS
    with (tmp_path / CSV).open() as file:
        found = list(csv.DictReader(file))
    assert [own["method.name"] for own in found] == ["darts", "darts", "gdas", "gdas", "xnas"]
    assert found[0]["valid_accuracy"] == "0.5"
    assert found[3]["valid_accuracy"] == ""
    with (tmp_path / SUMMARY).open() as file:
        points = list(csv.DictReader(file))
    assert [own["runs"] for own in points] == ["2", "2", "1"]
    assert points[0]["low"] == "0.5"


def test_a_sweep_without_results(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has no results\.jsonl; none of its runs has ended yet"):
        read_results(tmp_path)
    (tmp_path / LINES).write_text("{}\n?")
    with pytest.raises(RunError, match="line 2 is not JSON"):
        read_results(tmp_path)


def test_rows_of_runs(tmp_path: Path) -> None:
    data = few(tmp_path / "few.npz")
    for job in (search_job(tmp_path, data), train_job(tmp_path, data, "data.valid=0.25")):
        assert work(job).state == "finished"
        planned = Planned("a", job.name, job.kind, job.config, {"epochs": 2})
        found = row_of(planned, tmp_path, "finished")
        result = json.loads((job.path / "result.json").read_text())
        assert found["digest"] == result["digest"]
        assert (found["epochs"], found["seconds"], found["seed"]) == (2, result["seconds"], 0)
        assert found["settings"] == {"epochs": 2}
        assert Path(found["path"]) == job.path
        if job.kind == "search":
            assert found["genotype"] == result["genotype"]
            assert found["discrete_accuracy"] == result["discrete_accuracy"]
        else:
            assert json.dumps(found["genotype"]) == json.dumps(json.loads(job.config["cell"]))
            assert found["test_accuracy"] == result["last"]["test"]["top1"]
            assert (found["parameters"], found["flops"]) == (result["parameters"], result["flops"])


def test_rows_of_runs_that_were_dropped_or_failed(tmp_path: Path) -> None:
    data = few(tmp_path / "few.npz")
    job = search_job(tmp_path, data, until=1)
    assert work(job).state == "paused"
    planned = Planned("a", job.name, job.kind, job.config, {})
    dropped = row_of(planned, tmp_path, "dropped", "clearly worse")
    assert (dropped["state"], dropped["reason"], dropped["epochs"]) == ("dropped", "clearly worse", 1)
    assert 0 <= dropped["valid_accuracy"] <= 1
    missing = Planned("a", "nowhere", job.kind, job.config, {})
    assert row_of(missing, tmp_path, "failed", "why")["reason"] == "why"
