import json
import logging
import math
import re
from datetime import UTC, datetime

import pytest
import torch
import yaml

from dartboard.errors import CheckpointError, RunError
from dartboard.runs import Lock, Run, is_locked
from dartboard.space import get_space, space_from_json

CONFIG = {"method": "darts", "lr": 0.025, "arch": {"lr": 3e-4, "betas": [0.5, 0.999]}, "aux": None}


@pytest.fixture
def run(tmp_path):
    with Run.create(tmp_path / "runs" / "first", CONFIG) as run:
        yield run


def fill(run, epochs=3):
    for epoch in range(epochs):
        run.record(epoch, {"loss": epoch / 3}, {"strengths": [epoch]})


def numbers(run):
    files = sorted(int(path.stem) for path in (run.path / "epochs").iterdir())
    assert files == [row["epoch"] for row in run.metrics()]
    return files


def test_a_new_run_holds_what_it_was_given(tmp_path):
    space = get_space("nb201")
    with Run.create(str(tmp_path / "run"), CONFIG, space=space) as run:
        assert run.path == tmp_path / "run"
        assert run.config == CONFIG
    assert list(yaml.safe_load((run.path / "config.yaml").read_text())) == ["format", *CONFIG]
    assert space_from_json((run.path / "space.json").read_text()) == space
    (start,) = json.loads((run.path / "environment.json").read_text())
    assert start["torch"] == torch.__version__
    names = {path.name for path in run.path.iterdir()}
    assert names == {"config.yaml", "space.json", "environment.json", "lock", "checksums.txt"}


def test_without_a_space_there_is_no_file_of_it(run):
    assert not (run.path / "space.json").exists()


def test_a_run_is_made_only_once(run):
    run.close()
    with pytest.raises(RunError, match="already holds a run; continue it with --resume"):
        Run.create(run.path, CONFIG)


def test_a_foreign_directory_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match=r"is not empty: it holds thesis\.tex"):
        Run.create(tmp_path, CONFIG)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_configuration_that_cannot_be_written_makes_no_run(tmp_path):
    with pytest.raises(RunError, match="cannot be written as YAML"):
        Run.create(tmp_path / "run", {"a": object()})
    assert not (tmp_path / "run").exists()


def test_a_run_whose_maker_was_killed_can_be_made_again(tmp_path):
    with Lock(tmp_path):
        (tmp_path / "environment.json").write_text("[")
        with pytest.raises(RunError, match="is in use by process"):
            Run.create(tmp_path, CONFIG)
    (tmp_path / ".config.yaml.0123456789abcdef.tmp").touch()
    Run.create(tmp_path, CONFIG).close()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"config.yaml", "environment.json", "lock", "checksums.txt"}


def test_a_run_that_became_one_while_it_was_awaited_is_left_alone(tmp_path, monkeypatch):
    take = Lock.take

    def late(lock):
        (tmp_path / "config.yaml").write_text("other: 1\n")
        take(lock)

    monkeypatch.setattr(Lock, "take", late)
    with pytest.raises(RunError, match="already holds a run"):
        Run.create(tmp_path, CONFIG)
    assert (tmp_path / "config.yaml").read_text() == "other: 1\n"
    assert not is_locked(tmp_path)


def test_resuming_takes_the_lock_and_notes_the_start(run):
    with pytest.raises(RunError, match="is in use by process"):
        Run.resume(run.path)
    run.close()
    (run.path / ".result.json.0123456789abcdef.tmp").touch()
    with Run.resume(run.path) as resumed:
        assert resumed.config == CONFIG
        assert len(json.loads((run.path / "environment.json").read_text())) == 2
        assert not list(run.path.glob(".*"))
        with pytest.raises(RunError, match="is in use by process"):
            Run.resume(run.path)
    assert len(json.loads((run.path / "environment.json").read_text())) == 2


def test_what_is_no_run_is_refused_with_the_runs_in_it(run):
    for way in (Run.resume, Run.read):
        with pytest.raises(RunError, match=f"did you mean {run.path}\\?"):
            way(run.path.parent)


@pytest.mark.parametrize("name", ["config.yaml", "environment.json"])
def test_a_damaged_file_is_named_and_the_lock_released(run, name):
    run.close()
    (run.path / name).write_text("{")
    with pytest.raises(RunError, match=name):
        Run.resume(run.path)
    assert not is_locked(run.path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("environment.json", '{"torch": "2"}', 'should hold a list of entries, not {"torch": "2"}; it'),
        ("environment.json", "[]", r"should hold a list of entries, not \[\]"),
        ("environment.json", "[3]", "entry 1 should hold names and values, not 3"),
        ("metrics.jsonl", '{"loss": 1}\n', "line 1 has no epoch with a whole number; it was changed"),
        ("metrics.jsonl", '{"epoch": "0"}\n', "line 1 has no epoch with a whole number"),
        ("metrics.jsonl", '{"epoch": 0}\n[1]\n', r"line 2 should hold names and values, not \[1\]"),
        ("config.yaml", "when: 2020-13-45", "is not YAML: line 1, column 7: month must be"),
    ],
)
@pytest.mark.usefixtures("without_checksums")
def test_a_file_that_somebody_changed_is_named_and_nothing_is_written(run, name, text, words):
    run.close()
    (run.path / name).write_text(text)
    before = (run.path / "environment.json").read_bytes()
    with pytest.raises(RunError, match=rf"{re.escape(name)}.*{words}"):
        Run.resume(run.path)
    assert not is_locked(run.path)
    assert (run.path / "environment.json").read_bytes() == before


@pytest.mark.usefixtures("without_checksums")
def test_details_and_results_that_somebody_changed_are_named(run):
    fill(run)
    (run.path / "epochs" / "0001.json").write_text("[]")
    (run.path / "result.json").write_text("3")
    with pytest.raises(RunError, match=r"0001\.json should hold names and values, not \[\]"):
        run.epoch(1)
    with pytest.raises(RunError, match=r"result\.json should hold names and values, not 3"):
        run.result()


def test_what_is_recorded_comes_back(run):
    loss = 0.1 + 0.2
    run.record(0, {"loss": loss, "steps": 3}, {"strengths": {"normal": [[0.25, 1e-300]]}})
    run.record(7, {"loss": 5e-324, "note": "line\nfeed\u2028"}, {})
    reader = Run.read(run.path)
    assert reader.metrics() == [
        {"epoch": 0, "loss": loss, "steps": 3},
        {"epoch": 7, "loss": 5e-324, "note": "line\nfeed\u2028"},
    ]
    assert reader.epoch(0) == {"strengths": {"normal": [[0.25, 1e-300]]}}
    assert (run.path / "epochs" / "0007.json").exists()
    assert len((run.path / "metrics.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused_and_nothing_is_written(run, bad):
    fill(run, 1)
    with pytest.raises(RunError, match=r"metrics\.loss is (nan|inf)"):
        run.record(1, {"loss": bad}, {})
    with pytest.raises(RunError, match=r"details\.a\[0\] is"):
        run.record(1, {}, {"a": [bad]})
    with pytest.raises(RunError, match=r"result\.accuracy is"):
        run.finish({"accuracy": bad})
    assert numbers(run) == [0]
    assert run.result() is None


def test_epochs_are_recorded_once_and_in_order(run):
    fill(run)
    for epoch in (1, 2):
        with pytest.raises(RunError, match=f"epoch {epoch} cannot follow epoch 2, which is recorded; rewind"):
            run.record(epoch, {}, {})
    with pytest.raises(RunError, match="counted from 0, got -1"):
        run.record(-1, {}, {})
    with pytest.raises(RunError, match="metrics have an 'epoch' of their own"):
        run.record(3, {"epoch": 4}, {})
    assert numbers(run) == [0, 1, 2]


def test_an_epoch_that_is_missing_is_named(run):
    with pytest.raises(RunError, match="has no epoch 0; there are none yet"):
        run.epoch(0)
    fill(run)
    with pytest.raises(RunError, match="has no epoch 3; the last is 2"):
        run.epoch(3)


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_line_is_named(run):
    fill(run)
    path = run.path / "metrics.jsonl"
    path.write_text(path.read_text()[:-3])
    with pytest.raises(RunError, match=r"metrics\.jsonl, line 3 is not JSON"):
        run.metrics()


@pytest.mark.parametrize(("epoch", "left"), [(0, []), (1, [0]), (3, [0, 1, 2]), (9, [0, 1, 2])])
def test_rewinding_forgets_later_epochs(run, epoch, left):
    fill(run)
    run.finish({"accuracy": 1})
    (run.path / "epochs" / "0009.json").write_text("{}")  # of a writer killed before it wrote the line
    run.rewind(epoch)
    assert numbers(run) == left
    assert (run.result() is None) == (epoch < 3)
    run.record(9, {}, {"new": True})
    assert run.epoch(9) == {"new": True}


def test_rewinding_leaves_files_that_are_no_epochs(run):
    fill(run)
    (run.path / "epochs" / "notes.json").write_text("mine")
    run.rewind(1)
    assert sorted(path.name for path in (run.path / "epochs").iterdir()) == ["0000.json", "notes.json"]


def test_rewinding_an_empty_run_does_nothing(run):
    run.rewind(0)
    assert run.metrics() == []


def test_checkpoints_are_saved_and_loaded(run):
    assert run.load() is None
    for step in (1, 2, 3):
        run.save(step, {"w": torch.tensor([step])})
    reader = Run.read(run.path)
    step, state = reader.load()
    assert (step, state["w"].item()) == (3, 3)
    (run.path / "checkpoints" / "step-0000000003" / "state.json").unlink()
    with pytest.raises(CheckpointError, match="--fall-back"):
        reader.load()
    assert reader.load(fall_back=True)[0] == 2
    run.save(4, {}, keep=1)
    assert len(list((run.path / "checkpoints").iterdir())) == 1


def test_states_of_a_run(run):
    reader = Run.read(run.path)
    assert run.state == reader.state == "running"
    run.close()
    assert reader.state == "stopped"
    with Run.resume(run.path) as resumed:
        assert reader.state == "running"
        assert resumed.result() is None
        resumed.finish({"genotype": "|nor_conv_3x3~0|", "accuracy": 0.1 + 0.2})
        assert reader.state == "finished"
    assert reader.state == "finished"
    assert reader.result() == {"genotype": "|nor_conv_3x3~0|", "accuracy": 0.1 + 0.2}
    with Run.resume(run.path) as resumed:
        resumed.record(0, {}, {})
        assert reader.state == "running"


WRITES = {
    "record": lambda run: run.record(5, {}, {}),
    "rewind": lambda run: run.rewind(0),
    "save": lambda run: run.save(5, {}),
    "finish": lambda run: run.finish({}),
    "log_handler": lambda run: run.log_handler(),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_reading_never_writes(run, write):
    fill(run)
    before = sorted(run.path.rglob("*"))
    with pytest.raises(RunError, match=r"open for reading only; open it with Run\.resume"):
        write(Run.read(run.path))
    run.close()
    with pytest.raises(RunError, match="open for reading only"):
        write(run)
    assert sorted(run.path.rglob("*")) == before
    assert numbers(run) == [0, 1, 2]


def test_closing_twice_is_no_error(run):
    run.close()
    run.close()
    assert not is_locked(run.path)


def test_the_log_is_appended_to_with_times_in_utc(run):
    logger = logging.getLogger("dartboard.test")

    def log(run, message):
        handler = run.log_handler()
        logger.addHandler(handler)
        logger.warning(message)
        logger.removeHandler(handler)

    log(run, "first é")
    run.close()
    with Run.resume(run.path) as resumed:
        log(resumed, "second")
    first, second = (run.path / "log.txt").read_text(encoding="utf-8").splitlines()
    time, rest = first.split(" ", 1)
    assert rest == "WARNING dartboard.test: first é"
    assert second.endswith("second")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()) < 60
