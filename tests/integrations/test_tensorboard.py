import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dartboard.errors import OptionError
from dartboard.integrations import tracker
from dartboard.integrations.tensorboard import TensorBoardHook
from dartboard.runs import Run
from dartboard.search.hooks import Hook
from dartboard.space import get_space
from helpers.search_cases import search
from helpers.train_cases import train

events = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed"
)


def shown(folder: Path) -> Any:
    """What TensorBoard shows of a folder."""
    found = events.EventAccumulator(str(folder), size_guidance={"images": 0, "histograms": 0, "scalars": 0})
    return found.Reload()


def steps(folder: Path, name: str) -> list[int]:
    return [own.step for own in shown(folder).Scalars(name)]


class Kill(Hook):
    """Ends the process, as it were, after an epoch and before its checkpoint."""

    def on_epoch_end(self, searcher: Any, record: Any) -> None:  # noqa: ARG002
        if record.epoch == 1:
            raise MemoryError("killed")


def test_a_search_shows_its_numbers_strengths_and_cells(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        search(epochs=3, run=run, hooks=[TensorBoardHook(tmp_path / "tb")]).fit()
        rows = run.metrics()
    found = shown(tmp_path / "tb")
    for name in ("train_loss", "valid_accuracy", "entropy", "lr"):
        written = [(own.step, own.value) for own in found.Scalars(name)]
        assert written == [(row["epoch"] + 1, pytest.approx(row[name])) for row in rows]
    assert [own.value for own in found.Scalars("cell/alive")] == [
        row["cells"]["cell"]["alive"] for row in rows
    ]
    (first, *_) = histogram = found.Histograms("strengths/cell")
    assert [own.step for own in histogram] == [1, 2, 3]
    assert first.histogram_value.num == sum(len(e.ops) for e in get_space("nano").cells["cell"].edges)
    assert {"cell", "chosen cell"} <= set(found.Tags()["images"])
    picture = Image.open(io.BytesIO(found.Images("chosen cell")[0].encoded_image_string))
    assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 10


def test_a_search_that_goes_on_repeats_no_step(tmp_path: Path) -> None:
    hook = TensorBoardHook(tmp_path / "tb")
    with pytest.raises(MemoryError, match="killed"), Run.create(tmp_path / "run", {}) as run, hook:
        search(epochs=3, run=run, hooks=[hook, Kill()]).fit()
    assert steps(tmp_path / "tb", "train_loss") == [1, 2]
    with Run.resume(tmp_path / "run") as run:
        search(epochs=3, run=run, hooks=[TensorBoardHook(tmp_path / "tb")]).fit()
    assert steps(tmp_path / "tb", "train_loss") == [1, 2, 3]
    assert [own.step for own in shown(tmp_path / "tb").Histograms("strengths/cell")] == [1, 2, 3]
    with Run.resume(tmp_path / "run") as run:
        search(epochs=3, run=run, hooks=[TensorBoardHook(tmp_path / "tb")]).fit()
    assert len(shown(tmp_path / "tb").Images("chosen cell")) == 1


def test_a_new_search_in_the_same_folder_replaces_the_old_one(tmp_path: Path) -> None:
    for epochs in (3, 2):
        search(epochs=epochs, hooks=[TensorBoardHook(tmp_path)]).fit()
    assert steps(tmp_path, "train_loss") == [1, 2]


def test_a_training_shows_its_numbers_and_the_cell_it_trains(tmp_path: Path) -> None:
    train(epochs=2, hooks=[TensorBoardHook(tmp_path)]).fit()
    assert steps(tmp_path, "test_accuracy") == [1, 2]
    assert [own.step for own in shown(tmp_path).Images("cell")] == [0]


def test_without_the_package_the_command_that_helps_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"pip install 'dartboard\[tensorboard\]'"):
        TensorBoardHook(tmp_path)
