import bz2
import os
import pickle
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
import torch

from dartboard.errors import TableError
from dartboard.tables import nb201_import
from dartboard.tables.nb201 import all_cells
from dartboard.tables.nb201_import import SOURCES, read_archive, trim_training
from helpers.nats_data import EPOCHS, SEEDS, SETS, accuracy, meta, save, trial, whole_nats, whole_nb201
from helpers.pickle_calls import Calls

CELLS = all_cells()[::-1][:3]


def save_legacy(path: Path, value: object) -> None:
    """Writes a value as torch did before 1.6."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the old kind of storages
        torch.save(value, path, _use_new_zipfile_serialization=False)


def save_zip(path: Path, value: object) -> None:
    """Writes a value as torch does since 1.6."""
    torch.save(value, path)


LAYOUTS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[Path, object], None]]] = {
    "NATS-tss-v1_0-3ffb9.pickle.pbz2": (whole_nats, save),
    "NAS-Bench-201-v1_0-e61699.pth": (whole_nb201, save_legacy),
    "NAS-Bench-201-v1_1-096897.pth": (whole_nb201, save_zip),
}
LAYOUT = pytest.mark.parametrize("name", LAYOUTS)


def silent(_: str, __: int, ___: int) -> None:
    """Is told and does nothing."""


@pytest.fixture(autouse=True)
def _three_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nb201_import, "check_cells", len)  # three cells are quicker to write than all


def long_name(name: str) -> str:
    """What a layout calls the schedule of 200 epochs."""
    return "200" if name.startswith("NATS") else "full"


def write(folder: Path, name: str, change: Callable[[dict[str, Any]], None] = dict.copy) -> Path:
    """An official file of three cells, something of which is changed."""
    make, save_ = LAYOUTS[name]
    value = make(CELLS)
    change(value)
    save_(folder / name, value)
    return folder / name


@LAYOUT
@pytest.mark.parametrize("renamed", [False, True])
def test_a_file_becomes_columns(name: str, renamed: bool, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    found = read_archive(path.rename(tmp_path / "file") if renamed else path, silent)
    assert found["arch_str"] == CELLS
    assert found["params_cifar10"] == [100_000, 100_001, 100_002]
    assert found["mflops_cifar10"] == [10.0, 10.001, 10.002]
    for column, (trained, measured) in SOURCES.items():
        means = [fmean(accuracy(index, trained, measured, seed) for seed in SEEDS) for index in range(3)]
        assert found[column] == pytest.approx(means, abs=1e-4)


def test_all_layouts_and_the_folder_say_the_same(tmp_path: Path) -> None:
    one, *others = (read_archive(write(tmp_path, name), silent) for name in LAYOUTS)
    assert all(other == one for other in others)
    assert nb201_import.read_folder(nats_folder_of(tmp_path), silent) == one


def nats_folder_of(folder: Path) -> Path:
    """The same cells as a folder."""
    save(folder / "meta.pickle.pbz2", meta(CELLS))
    for index, own in whole_nats(CELLS)["arch2infos"].items():
        save(folder / f"{index:06d}.pickle.pbz2", own)
    return folder


@LAYOUT
def test_it_is_told_how_many_bytes_are_read(name: str, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    path = write(tmp_path, name)
    read_archive(path, lambda *words: told.append(words))
    assert len(told) == 2 * len(CELLS)
    assert {(own, size) for own, _, size in told} == {(name, path.stat().st_size)}
    assert 0 < told[0][1] <= told[-1][1] <= path.stat().st_size
    assert [read for _, read, _ in told] == sorted(read for _, read, _ in told)


@LAYOUT
def test_weights_are_left_out(name: str, tmp_path: Path) -> None:
    def change(value: dict[str, Any]) -> None:
        for own in value["arch2infos"][0][long_name(name)]["all_results"].values():
            own["net_state_dict"] = weights

    weights = {"a": np.ones(3)} if name.startswith("NATS") else {"a": torch.ones(3)}
    assert read_archive(write(tmp_path, name, change), silent) == read_archive(write(tmp_path, name), silent)


def setting(*keys: Any, to: object) -> Callable[[dict[str, Any], str], None]:
    """Changes something of a file; the schedule of 200 epochs is called LONG."""

    def change(value: dict[str, Any], long: str) -> None:
        for key in keys[:-1]:
            value = value[long if key == "LONG" else key]
        value[long if keys[-1] == "LONG" else keys[-1]] = to

    return change


ONE = ("arch2infos", 1, "LONG", "all_results", ("cifar10", 777))


@LAYOUT
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setting("meta_archs", to=None), "has no list 'meta_archs' of cells"),
        (setting("arch2infos", to=None), "has no dictionary 'arch2infos'"),
        (setting("arch2infos", to={}), r"has no trainings of cell 0, \|"),
        (setting("arch2infos", 1, to={"12": {}}), "cell 1: has no trainings of 200 epochs"),
        (setting("arch2infos", 1, to=7), "cell 1: not as its authors write it .TypeError"),
        (setting("arch2infos", 1, "LONG", "arch_str", to="x"), "cell 1: is about 'x'; the list of cells"),
        (setting(*ONE, "eval_acc1es", to={}), "cell 1: not as .*KeyError: 'ori-test@199'"),
        (setting(*ONE, "eval_acc1es", to=[1.0]), "cell 1: not as .*TypeError"),
        (setting(*ONE, "eval_acc1es", to={"ori-test@199": 101.0}), "cell 1: not as .*an accuracy of"),
        (setting(*ONE, "epochs", to=199), "cell 1: not as .*another number of epochs than 200"),
        (setting(*ONE, "epochs", to="200"), "cell 1: not as .*another number of epochs than 200"),
        (setting(*ONE, "params", to=-1.0), "cell 1: not as .*-1.0 million parameters"),
        (setting(*ONE, "params", to=None), "cell 1: not as .*TypeError"),
    ],
)
def test_a_file_that_is_another(name: str, change: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, lambda value: change(value, long_name(name)))
    with pytest.raises(TableError, match=f"^{path}: ({message})"):
        read_archive(path, silent)


@LAYOUT
def test_a_file_that_would_run_something(name: str, tmp_path: Path) -> None:
    call = Calls(os.system, f"touch {tmp_path / 'mark'}")
    path = write(tmp_path, name, lambda value: value["arch2infos"].update({0: call}))
    with pytest.raises(TableError, match=rf"^{path}: refused: it asks for (posix|os)\.system, which plain"):
        read_archive(path, silent)
    assert not (tmp_path / "mark").exists()


@LAYOUT
def test_keys_in_keys_are_one_line(name: str, tmp_path: Path) -> None:
    key: Any = ()
    for _ in range(50):
        key = (key,)
    path = write(tmp_path, name, lambda value: value["arch2infos"].update({key: 1}))
    with pytest.raises(TableError, match="refused: it has a dictionary whose keys are not texts or numbers"):
        read_archive(path, silent)


def test_a_training_that_holds_itself(tmp_path: Path) -> None:
    path = tmp_path / "file.pickle.pbz2"
    path.write_bytes(bz2.compress(b"\x80\x02}q\x00X\x0b\x00\x00\x00eval_acc1esh\x00s."))
    with pytest.raises(TableError, match=f"^{path}: "):
        read_archive(path, silent)


@LAYOUT
def test_a_file_that_is_damaged(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)
    whole = path.read_bytes()
    for length in (len(whole) // 2, 40, 5):
        path.write_bytes(whole[:length])
        with pytest.raises(
            TableError, match=rf"^{path}: (is cut off|no whole|no file|no official)"
        ) as caught:
            read_archive(path, silent)
        assert "\n" not in str(caught.value)
    place = len(whole) // 2
    if name.startswith("NATS"):  # torch's old files have no checksum
        path.write_bytes(whole[:place] + bytes((whole[place] ^ 1,)) + whole[place + 1 :])
        with pytest.raises(TableError, match=rf"^{path}: (cannot be read|no whole pickle|refused)"):
            read_archive(path, silent)


@LAYOUT
def test_every_cut_and_every_flipped_byte_is_an_error_or_a_table(name: str, tmp_path: Path) -> None:
    whole = write(tmp_path, name).read_bytes()
    chance = np.random.default_rng(0)
    for flip in (True, False) * 60:
        place = chance.integers(len(whole))
        end = bytes((whole[place] ^ int(chance.integers(1, 256)),)) + whole[place + 1 :] if flip else b""
        (tmp_path / "file").write_bytes(whole[:place] + end)
        try:
            read_archive(tmp_path / "file", silent)
        except TableError as error:
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no official file of NAS-Bench-201: it begins with nothing"),
        (b"text", "no official file of NAS-Bench-201: it begins with 74 65 78 74"),
        (pickle.dumps({}), "no official file of NAS-Bench-201: it begins with 80 04"),
        (bz2.compress(pickle.dumps([1])), "holds a list, not a dictionary"),
        (bz2.compress(pickle.dumps(meta(CELLS))), "has no dictionary 'arch2infos'"),
    ],
)
def test_other_files(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(TableError, match=f"^{tmp_path}/file: {message}"):
        read_archive(tmp_path / "file", silent)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=rf"^{tmp_path}/none: cannot be read \(No such file"):
        read_archive(tmp_path / "none", silent)


def test_what_is_left_of_a_training() -> None:
    own = trial(0, "cifar100", 777, EPOCHS)
    dropped = [own["train_losses"], own["train_times"], own["eval_times"], own["latency"]]
    trim_training(own)
    assert not any(dropped)
    last = {f"{name}@199": accuracy(0, "cifar100", name, 777) for name in SETS["cifar100"]}
    assert own == {"epochs": 200, "params": 0.10585, "flop": 10.0, "eval_acc1es": last}
    trim_training(own)
    assert own["eval_acc1es"] == last


@LAYOUT
def test_memory_does_not_grow_with_what_is_not_needed(name: str, tmp_path: Path) -> None:
    def peak(path: Path) -> int:
        tracemalloc.start()
        read_archive(path, silent)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    def more(value: dict[str, Any]) -> None:
        for cell in value["arch2infos"].values():
            for schedule in cell.values():
                for own in schedule["all_results"].values():
                    own["train_losses"] = {epoch: epoch / 7 for epoch in range(1000)}

    few = peak(write(tmp_path, name))
    many = write(tmp_path, name, more)
    assert peak(many) - few < 500_000  # 48 trainings of 1,000 epochs take 48 * 60,000 bytes and more
