"""Cells trained side by side: the same batches, the same results however they are done, and kills."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from dartboard.analysis.comparison import ACCURACY, LOSS, METRICS, Comparison, Entry
from dartboard.analysis.convergence import FILE, Comparer, ComparisonPlan, compare, make_settings
from dartboard.analysis.variants import random_connections
from dartboard.errors import DivergedError, OptionError, RunError, Stopped, UnknownNameError
from dartboard.jobs.executors import make_executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.runner import JobRunner
from dartboard.runs import Run
from dartboard.space import get_published
from dartboard.train import Trainer, TrainHook
from helpers.executor_checks import PROCESS_EXECUTORS, when_saved, writer_pid
from helpers.kills import run_record, running_process
from helpers.protocol_cases import few_digits

DARTS = get_published("darts-v2")
CELLS = {"darts": DARTS, "other": random_connections(DARTS, 1)[0]}
CPU = torch.device("cpu")


def tiny(data: str, **more: Any) -> Any:
    base = {"data": {"name": data, "pad": 1, "flip": False}, "epochs": 2, "batch": 16}
    return make_settings(base, {"net": {"channels": 2, "cells": 3}}, more)


@pytest.fixture(scope="module")
def once(data: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    folder = tmp_path_factory.mktemp("once") / "out"
    return folder, compare(CELLS, tiny(data), folder, lrs=(0.05, 0.2))


def numbers(comparison: Comparison) -> dict[str, Any]:
    return comparison.facts()


def test_every_training_is_an_ordinary_run(once: tuple[Path, Comparison]) -> None:
    folder, comparison = once
    names = {f"{cell}-lr{lr}-s0" for cell in CELLS for lr in (0.05, 0.2)}
    assert {path.name for path in (folder / "runs").iterdir()} == names
    run = Run.read(folder / "runs" / "other-lr0.2-s0")
    assert (run.config["kind"], run.config["seed"], run.config["weights"]["lr"]) == ("train", 0, 0.2)
    rows = run.metrics()
    training = comparison.of("other", 0.2)[0]
    assert training.curves["train_loss"].values == tuple(row["train_loss"] for row in rows)
    assert training.curves[LOSS].values == tuple(row["test_loss"] for row in rows)
    assert training.curves[ACCURACY].values == tuple(row["test_accuracy"] for row in rows)
    assert training.curves[LOSS].epochs == (1, 2)


def test_nothing_regularizes_by_default(once: tuple[Path, Comparison]) -> None:
    config = Run.read(once[0] / "runs" / "darts-lr0.05-s0").config
    assert (config["net"]["auxiliary"], config["net"]["drop_path"], config["data"]["cutout"]) == (0, 0, 0)
    assert make_settings().batch == 80


def test_cells_see_the_same_batches_and_seeds_other_ones(data: str, tmp_path: Path) -> None:
    comparer = Comparer(ComparisonPlan.of(CELLS, tiny(data)), tmp_path, CPU)

    def batch(cell: str, lr: float, seed: int) -> torch.Tensor:
        trainer = comparer.builder.build_job(comparer.job(Entry(cell, lr, seed)))
        assert isinstance(trainer, Trainer)
        return torch.stack([trainer.loaders.train.batch(step).x for step in range(3)])

    first = batch("darts", 0.05, 0)
    assert torch.equal(first, batch("other", 0.2, 0))
    assert not torch.equal(first, batch("darts", 0.05, 1))


@pytest.mark.parametrize(("name", "options"), PROCESS_EXECUTORS)
def test_a_killed_worker_of_any_executor_loses_nothing(
    once: tuple[Path, Comparison], data: str, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    first = tmp_path / "out" / "runs" / "darts-lr0.05-s0"
    killer = when_saved(first, lambda: os.kill(writer_pid(first), signal.SIGKILL))
    executor = make_executor(name, options)
    again = compare(CELLS, tiny(data), tmp_path / "out", lrs=(0.05, 0.2), executor=executor)
    killer.join()
    assert numbers(again) == numbers(once[1])


def test_one_thread_computes_and_the_others_come_back(data: str, tmp_path: Path) -> None:
    seen = []

    def tell(what: str, done: int, total: int) -> None:
        seen.append((what, done, total))

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        compare({"darts": DARTS}, tiny(data), tmp_path / "out", progress=tell)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert Run.read(tmp_path / "out/runs/darts-lr0.025-s0").environment()[0]["threads"] == 1
    assert (seen[0], seen[-1]) == (("training", 0, 2), ("training", 2, 2))


def test_the_same_call_again_trains_nothing(
    once: tuple[Path, Comparison], data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Trainer, "fit", None)
    again = compare(CELLS, tiny(data), once[0], lrs=(0.05, 0.2))
    assert numbers(again) == numbers(once[1])


class Halt(TrainHook):
    """Stops a comparison in the middle of the second epoch of the second training."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop, self.steps = stop, 0

    def on_step_end(self, loop: Trainer) -> None:
        self.steps += 1
        if self.steps == 2 * loop.plan.steps + loop.plan.steps + 1:
            self.stop()


def test_a_comparison_that_was_stopped_goes_on_to_the_same_bits(
    once: tuple[Path, Comparison], data: str, tmp_path: Path
) -> None:
    comparer = Comparer(ComparisonPlan.of(CELLS, tiny(data)), tmp_path / "out")
    executor = InlineExecutor(JobRunner([Halt(comparer.stop)]))
    with pytest.raises(Stopped, match="runs not begun: 2"):
        comparer.run((0.05, 0.2), (0,), executor=executor)
    assert Run.read(tmp_path / "out/runs/other-lr0.05-s0").state == "stopped"
    again = compare(CELLS, tiny(data), tmp_path / "out", lrs=(0.05, 0.2))
    assert numbers(again) == numbers(once[1])
    for path in (once[0] / "runs").iterdir():
        assert run_record(path) == run_record(tmp_path / "out/runs" / path.name)


@pytest.mark.parametrize("name", ["here", "pool"])
def test_a_comparison_that_is_stopped_before_it_begins_trains_nothing(
    data: str, tmp_path: Path, name: str
) -> None:
    comparer = Comparer(ComparisonPlan.of(CELLS, tiny(data)), tmp_path / "out")
    comparer.stop()
    with pytest.raises(Stopped, match="runs not begun: 2"):
        comparer.run((0.05,), (0,), executor=make_executor(name, {}))
    assert not (tmp_path / "out/runs").exists()


KILLED = """
import sys
from pathlib import Path
from analysis.test_convergence import CELLS, tiny
from dartboard.analysis.convergence import compare

def tell(what, done, total):
    print(done, flush=True)

if __name__ == "__main__":
    compare(CELLS, tiny(sys.argv[1]), Path(sys.argv[2]), lrs=(0.05, 0.2), progress=tell)
"""


def test_a_comparison_that_was_killed_goes_on_to_the_same_bits(
    once: tuple[Path, Comparison], data: str, tmp_path: Path
) -> None:
    script, out = tmp_path / "victim.py", tmp_path / "out"
    script.write_text(f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n" + KILLED)
    with running_process([sys.executable, script, data, out]) as process:
        while int(process.stdout.readline() or 99) < 3:
            pass
        process.kill()
        process.wait()
    finished = [path for path in (out / "runs").iterdir() if Run.read(path).state == "finished"]
    assert 0 < len(finished) < 4
    again = compare(CELLS, tiny(data), out, lrs=(0.05, 0.2))
    assert numbers(again) == numbers(once[1])


def test_more_cells_rates_and_seeds_add_to_a_folder(
    once: tuple[Path, Comparison], data: str, tmp_path: Path
) -> None:
    compare({"darts": DARTS}, tiny(data), tmp_path / "out", lrs=(0.05,))
    grown = compare(CELLS, tiny(data), tmp_path / "out", lrs=(0.05,), seeds=(0, 1))
    wanted = once[1]
    for cell in CELLS:
        assert grown.areas(cell)[:1] == wanted.areas(cell, 0.05)
        assert len(set(grown.areas(cell))) == 2
    assert set(json.loads((tmp_path / "out" / FILE).read_text())["cells"]) == set(CELLS)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"epochs": 3}, "epochs was 2, is 3"),
        ({"weights": {"momentum": 0.5}}, "weights.momentum was 0.9, is 0.5"),
        ({"net": {"cells": 4}}, "net.cells was 3, is 4"),
    ],
)
def test_another_comparison_is_refused(
    once: tuple[Path, Comparison], data: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(RunError, match=f"other settings: {words}; name another folder"):
        compare(CELLS, tiny(data, **more), once[0], lrs=(0.05,))


def test_other_images_under_the_same_name_are_refused(data: str, tmp_path: Path) -> None:
    copy = tmp_path / "few.npz"
    copy.write_bytes(Path(data).read_bytes())
    compare({"darts": DARTS}, tiny(str(copy), epochs=1), tmp_path / "out")
    few_digits(copy, test=30)
    with pytest.raises(RunError, match="the images have changed"):
        compare({"darts": DARTS}, tiny(str(copy), epochs=1), tmp_path / "out")


def test_another_cell_of_the_same_label_is_refused(once: tuple[Path, Comparison], data: str) -> None:
    with pytest.raises(RunError, match="another cell called darts"):
        compare({"darts": CELLS["other"]}, tiny(data), once[0])


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_folder_is_refused(data: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(RunError, match="damaged"):
        compare(CELLS, tiny(data), tmp_path)


@pytest.mark.parametrize("label", ["", "a/b", "../up", "-lr", "a b"])
def test_labels_that_cannot_name_a_directory_are_refused(label: str) -> None:
    with pytest.raises(OptionError, match="cannot be labeled"):
        ComparisonPlan.of({label: DARTS}, make_settings())


def test_what_cannot_be_compared_is_refused(data: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nothing to compare"):
        compare({}, tiny(data), tmp_path)
    with pytest.raises(OptionError, match="above 0, not -1"):
        compare(CELLS, tiny(data), tmp_path, lrs=(-1.0,))
    with pytest.raises(OptionError, match=r"space\.name"):
        compare(CELLS, tiny(data, space={"name": None}), tmp_path)
    with pytest.raises(UnknownNameError, match="schedule"):
        compare(CELLS, tiny(data, weights={"schedule": "cosin"}), tmp_path)
    with pytest.raises(UnknownNameError, match="setting"):
        make_settings(words=["epoch=3"])
    assert not list(tmp_path.iterdir())


def test_rates_and_seeds_are_those_of_the_settings_unless_given(data: str, tmp_path: Path) -> None:
    settings = tiny(data, seed=3, weights={"lr": 0.07}, epochs=1)
    found = compare({"darts": DARTS}, settings, tmp_path / "out")
    assert (found.lrs, found.seeds) == ([0.07], [3])


def test_a_training_that_diverges_is_part_of_the_result(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = JobRunner.run

    def diverge(runner: JobRunner, job: Job) -> JobResult:
        if job.name.startswith("other"):
            Run.create(job.path, job.config).close()
            return JobResult(job, "failed", "the loss is nan", DivergedError.__name__)
        return run(runner, job)

    monkeypatch.setattr(JobRunner, "run", diverge)
    found = compare({"other": CELLS["other"], "darts": DARTS}, tiny(data), tmp_path / "out")
    assert found.of("other")[0].fault == "the loss is nan"
    assert found.area("other") is None
    assert found.ranking() == found.ranking(metric=ACCURACY) == ["darts", "other"]
    assert found.level() is None
    json.dumps(found.facts(), allow_nan=False)
    found.plot()
    monkeypatch.setattr(JobRunner, "run", None)  # what broke off is not tried again
    assert numbers(
        compare({"other": CELLS["other"], "darts": DARTS}, tiny(data), tmp_path / "out")
    ) == numbers(found)


def test_a_training_that_went_on_after_all_has_no_fault(
    once: tuple[Path, Comparison], data: str, tmp_path: Path
) -> None:
    shutil.copytree(once[0], tmp_path / "out")
    (tmp_path / "out/runs/other-lr0.05-s0/fault.txt").write_text("the loss was nan")
    again = compare(CELLS, tiny(data), tmp_path / "out", lrs=(0.05, 0.2))
    assert numbers(again) == numbers(once[1])


def test_a_real_training_that_diverges_is_tried_once(data: str, tmp_path: Path) -> None:
    settings = tiny(data)
    found = compare({"darts": DARTS}, settings, tmp_path / "out", lrs=(1e30,))
    assert "finite" in str(found.of("darts")[0].fault)
    begun = Run.read(tmp_path / "out/runs/darts-lr1e+30-s0").environment()
    again = compare({"darts": DARTS}, settings, tmp_path / "out", lrs=(1e30,))
    assert numbers(again) == numbers(found)
    assert Run.read(tmp_path / "out/runs/darts-lr1e+30-s0").environment() == begun


def test_the_picture_has_a_line_for_each_cell(once: tuple[Path, Comparison]) -> None:
    figure = once[1].plot(labels={"darts": "DARTS"})
    panels = figure.get_axes()
    assert len(panels) == len(METRICS) * 2
    lines = panels[0].get_lines()
    assert [line.get_label() for line in lines] == ["DARTS", "other"]
    assert lines[0].get_ydata() == pytest.approx(once[1].band("darts", 0.05, "train_loss").mean)
    assert panels[-1].get_lines()[1].get_ydata() == pytest.approx(
        100 * once[1].band("other", 0.2, ACCURACY).mean
    )
    assert len(once[1].plot([LOSS]).get_axes()) == 2


def test_questions_about_what_is_not_there(once: tuple[Path, Comparison]) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'darts'"):
        once[1].of("dart", 0.05)
    with pytest.raises(OptionError, match=r"there are 0\.05, 0\.2"):
        once[1].of("darts")
    with pytest.raises(OptionError, match=r"no learning rate 0\.1"):
        once[1].of("darts", 0.1)
    alone = replace(once[1], trainings=[own for own in once[1].trainings if own.entry.lr == 0.2])
    assert alone.areas("darts") == once[1].areas("darts", 0.2)
