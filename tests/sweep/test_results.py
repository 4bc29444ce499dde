import csv
import json
from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.runs.directory import SWEEP_RESULTS
from dartboard.sweep.grid import PlannedRun
from dartboard.sweep.results import CSV, SUMMARY, read_results, row_of, summary, write_results
from helpers.protocol_cases import few_digits
from helpers.sweep_cases import run_job, search_job, train_job


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
    (tmp_path / SWEEP_RESULTS).write_text(json.dumps(ROWS[0]) + "\n?")
    with pytest.raises(RunError, match="line 2 is not JSON"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({}, "line 1 does not say name as it should"),
        ([], "line 1 should hold names and values"),
        (ROWS[0] | {"settings": 3}, "line 1 does not say settings as it should"),
        (ROWS[0] | {"valid_accuracy": "high"}, "line 1 should say valid_accuracy with a number"),
    ],
)
def test_results_of_another_shape(line: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / SWEEP_RESULTS).write_text(json.dumps(line))
    with pytest.raises(RunError, match=words):
        read_results(tmp_path)


def test_settings_that_are_called_like_columns(tmp_path: Path) -> None:
    rows = [row("darts", 0, 0.5, epochs=7) | {"settings": {"epochs": 9, "runs": 4, "batch": 8}}]
    write_results(tmp_path, rows)
    with (tmp_path / CSV).open() as file:
        [found] = csv.DictReader(file)
    assert (found["epochs"], found["settings.epochs"], found["runs"], found["batch"]) == ("7", "9", "4", "8")
    with (tmp_path / SUMMARY).open() as file:
        [point] = csv.DictReader(file)
    assert (point["runs"], point["settings.runs"], point["epochs"]) == ("1", "4", "9")


def test_rows_of_runs(tmp_path: Path) -> None:
    data = few_digits(tmp_path / "few.npz")
    for job in (search_job(tmp_path, data), train_job(tmp_path, data, "data.valid=0.25")):
        assert run_job(job).state == "finished"
        planned = PlannedRun("a", job.name, job.kind, job.config, {"epochs": 2})
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
    data = few_digits(tmp_path / "few.npz")
    job = search_job(tmp_path, data, until=1)
    assert run_job(job).state == "paused"
    planned = PlannedRun("a", job.name, job.kind, job.config, {})
    dropped = row_of(planned, tmp_path, "dropped", "clearly worse")
    assert (dropped["state"], dropped["reason"], dropped["epochs"]) == ("dropped", "clearly worse", 1)
    assert 0 <= dropped["valid_accuracy"] <= 1
    missing = PlannedRun("a", "nowhere", job.kind, job.config, {})
    assert row_of(missing, tmp_path, "failed", "why")["reason"] == "why"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("result.json", "{}", "should say epochs with a number"),
        ("result.json", "?", "is not JSON"),
        ("result.json", '{"epochs": 2, "seconds": "long"}', "should say seconds with a number"),
        ("config.yaml", "[", "is not YAML"),
    ],
)
@pytest.mark.usefixtures("without_checksums")
def test_rows_of_damaged_runs(file: str, text: str, words: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, "digits")
    with Run.create(job.path, job.config) as run:
        run.finish({})
    (job.path / file).write_text(text)
    found = row_of(PlannedRun("a", job.name, job.kind, job.config, {}), tmp_path, "finished")
    assert found["state"] == "failed"
    assert words in found["reason"]
    assert summary([found])[0].seconds is None


@pytest.mark.usefixtures("without_checksums")
def test_rows_of_damaged_trainings_and_of_dropped_runs(tmp_path: Path) -> None:
    job = train_job(tmp_path, "digits")
    planned = PlannedRun("a", job.name, job.kind, job.config, {})
    with Run.create(job.path, job.config) as run:
        run.finish({"epochs": 1, "seconds": 1.0})
    assert (
        "has files that cannot be read: KeyError('last')" in row_of(planned, tmp_path, "finished")["reason"]
    )
    (job.path / "result.json").unlink()
    (job.path / "metrics.jsonl").write_text("?")
    found = row_of(planned, tmp_path, "dropped", "clearly worse")
    assert found["state"] == "failed"
    assert "metrics.jsonl, line 1 is not JSON" in found["reason"]
