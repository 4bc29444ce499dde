import json
import logging
import threading
from pathlib import Path

import pytest
import yaml

from dartboard.errors import RunError
from dartboard.report import REPORT, ReportHook, try_report, watch, write_report
from dartboard.report import write as module
from dartboard.runs import Run
from helpers.report_runs import make_search
from helpers.search_cases import search

LIVE = "This page looks for news"


def test_a_report_is_replaced(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s")
    out = tmp_path / "r.html"
    out.write_text("old")
    assert write_report([run.path], out) == out
    assert out.read_text().startswith("<!doctype html>")
    assert LIVE not in out.read_text()
    assert LIVE in write_report([run.path], out, live=True).read_text()


@pytest.mark.parametrize("metrics", [{"valid_accuracy": "much"}, {"cells": 3}, {"entropy": []}])
@pytest.mark.usefixtures("without_checksums")
def test_numbers_that_are_none(tmp_path: Path, metrics: dict[str, object]) -> None:
    run = make_search(tmp_path / "s", finish=False)
    rows = [json.dumps(row | metrics) + "\n" for row in run.metrics()]
    (run.path / "metrics.jsonl").write_text("".join(rows))
    with pytest.raises(RunError, match="something in the files cannot be shown"):
        write_report([run.path], tmp_path / "r.html")


@pytest.mark.parametrize("missing", ["seed", "method"])
@pytest.mark.usefixtures("without_checksums")
def test_a_configuration_that_lacks_something(tmp_path: Path, missing: str) -> None:
    run = make_search(tmp_path / "s")
    values = {key: value for key, value in run.config.items() if key != missing}
    (run.path / "config.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(RunError, match="cannot be shown"):
        write_report([run.path], tmp_path / "r.html")


def test_names_that_are_no_text(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s\udcff")
    assert "\\udcff" in write_report([run.path], tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_hook_writes_at_the_end_or_after_every_epoch(tmp_path: Path) -> None:
    pages: list[str] = []

    class Spy(ReportHook):
        def _write(self, loop: object, *, live: bool) -> None:
            super()._write(loop, live=live)
            pages.append((tmp_path / "s" / REPORT).read_text())

    with Run.create(tmp_path / "s", {"kind": "search", "seed": 0, "method": {"name": "gaea-darts"}}) as run:
        searcher = search(run=run, hooks=[Spy(live=True)])
        (run.path / "space.json").write_text(_space(searcher))
        searcher.fit()
    assert ["epoch 2" in page for page in pages] == [False, True, True]
    assert [LIVE in page for page in pages] == [True, True, False]
    assert "final choice" in pages[-1]


def _space(searcher: object) -> str:
    from dartboard.space import space_to_json

    return space_to_json(searcher.space)  # type: ignore[attr-defined]


def test_a_search_outlives_its_report(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Run.create(tmp_path / "s", {"kind": "search", "seed": 0}) as run:  # without a space
        with caplog.at_level(logging.WARNING):
            result = search(run=run, hooks=[ReportHook()]).fit()
        assert run.result() == result.facts()
    (said,) = [own.message for own in caplog.records if "report" in own.message]
    assert said.startswith("no report was written: ")
    assert "\n" not in said
    assert not (tmp_path / "s" / REPORT).exists()


def test_any_mistake_is_put_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(try_report(tmp_path)).startswith(f"no report was written: {tmp_path} is not a run")
    run = make_search(tmp_path / "s")
    assert try_report(run.path) is None
    monkeypatch.setattr(module, "render", lambda *_, **__: 1 / 0)
    assert try_report(run.path) == "no report was written: division by zero"


def test_a_run_of_another_process_is_followed_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_INTERVAL", 0.01)
    source = make_search(tmp_path / "source", epochs=3)
    run = make_search(tmp_path / "s", epochs=1, finish=False)
    out, written = tmp_path / "r.html", threading.Semaphore(0)
    with Run.resume(run.path) as writer:
        told = threading.Thread(target=_follow, args=(run.path, out, written))
        told.start()
        for epoch in (1, 2):
            assert written.acquire(timeout=60)
            assert LIVE in out.read_text()
            assert f'"epoch {epoch + 1}"' not in out.read_text()
            row = source.metrics()[epoch]
            del row["epoch"]
            writer.record(epoch, row, source.epoch(epoch))
        assert written.acquire(timeout=60)
    told.join(timeout=60)
    assert not told.is_alive()
    assert LIVE not in out.read_text()
    assert "epoch 3" in out.read_text()


def _follow(run: Path, out: Path, written: threading.Semaphore) -> None:
    watch([run], out, on_write=lambda _: written.release())


def test_a_run_that_does_not_go_on_is_written_once(tmp_path: Path) -> None:
    told: list[int] = []
    watch([make_search(tmp_path / "s").path], tmp_path / "r.html", on_write=told.append)
    assert told == []
    assert LIVE not in (tmp_path / "r.html").read_text()
    with pytest.raises(RunError, match="is not a run"):
        watch([tmp_path], tmp_path / "r.html")
