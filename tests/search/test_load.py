from pathlib import Path
from typing import Any

import pytest
import torch

from dartboard.errors import CheckpointError, RunError
from dartboard.runs import Run, list_checkpoints
from dartboard.search import Searcher
from dartboard.search.config import SearchConfig, build, merge, resolved
from dartboard.search.health import accuracy, discrete_accuracy
from dartboard.search.searcher import load_searcher, restore_search
from dartboard.space import decode
from helpers.protocol_cases import few_digits
from helpers.search_cases import SHORT

pytestmark = pytest.mark.usefixtures("one_thread")


def settings(tmp_path: Path, **more: Any) -> SearchConfig:
    return merge([SHORT, {"space": "nano", "method": "asm", "data": few_digits(tmp_path / "few.npz")}, more])


def make(config: SearchConfig) -> Searcher:
    parts = build(config)
    return Searcher(parts.space, parts.method, parts.data, parts.options)


def finished(tmp_path: Path, **more: Any) -> Run:
    config = settings(tmp_path, **more)
    searcher = make(config)
    with Run.create(tmp_path / "run", resolved(config), space=searcher.space) as run:
        searcher.run = run
        searcher.fit()
    return Run.read(run.path)


@pytest.mark.parametrize("method", ["asm", "xnas", "gaea-darts"])
def test_a_finished_search_comes_back_as_it_was(tmp_path: Path, method: str) -> None:
    run, chance = finished(tmp_path, method=method), torch.get_rng_state()
    searcher, result = load_searcher(run), run.result()
    assert torch.equal(torch.get_rng_state(), chance)
    assert result is not None
    assert searcher.epoch == result["epochs"]
    assert searcher.run is None
    genotype = decode(str(result["genotype"]).replace("'", '"'))
    assert (
        discrete_accuracy(searcher.objective, genotype, searcher.valid_batches())
        == result["discrete_accuracy"]
    )
    assert (
        accuracy(searcher.objective, searcher.relaxation, searcher.valid_batches())
        == result["valid_accuracy"]
    )


def test_a_run_without_checkpoints(tmp_path: Path) -> None:
    config = settings(tmp_path)
    searcher = make(config)
    message = "has no checkpoint, and with it no trained weights; remove the run, and do it again"
    with Run.create(tmp_path / "run", resolved(config)) as run, pytest.raises(CheckpointError, match=message):
        restore_search(searcher, run)


def test_an_older_checkpoint_will_do_if_it_may(tmp_path: Path) -> None:
    run = finished(tmp_path)
    before, last = list_checkpoints(run.path / "checkpoints")[-2:]
    (last / "state.json").write_text("")
    with pytest.raises(CheckpointError, match="use it with --fall-back"):
        load_searcher(run)
    assert load_searcher(run, fall_back=True).step == int(before.name.removeprefix("step-"))


def test_a_run_of_something_else(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "train"}) as run:
        message = "is a run of dartboard train; name one of dartboard search"
        with pytest.raises(RunError, match=message):
            load_searcher(run)
