import pickle
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from dartboard.errors import TableError
from dartboard.space import decode
from dartboard.tables import IMPORTS, import_nb201, load_nb201, nb201_import
from dartboard.tables.nb201 import COLUMNS, DATASETS, all_cells, column, read_columns
from helpers.nats_data import SEEDS, accuracy, cell_file, meta, nats_folder, save, whole_nats, whole_nb201

CELLS = all_cells()[::-1]


def silent(_: str, __: int, ___: int) -> None:
    """Is told and does nothing."""


def test_it_is_registered() -> None:
    assert IMPORTS["nb201"] is import_nb201


def test_folders_and_files_become_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nb201_import, "check_cells", len)  # three are quicker to write than all
    save(tmp_path / "nats", whole_nats(CELLS[:3]))
    torch.save(whole_nb201(CELLS[:3]), tmp_path / "torch")
    sources = nats_folder(tmp_path / "simple", CELLS[:3], 3), tmp_path / "nats", tmp_path / "torch"
    for source in sources:
        assert import_nb201(source, tmp_path / f"{source.name}.csv.gz", silent) == 3
    one, *others = ((tmp_path / f"{source.name}.csv.gz").read_bytes() for source in sources)
    assert all(other == one for other in others)
    assert read_columns(tmp_path / "nats.csv.gz", COLUMNS)["arch_str"] == CELLS[:3]


def test_a_file_without_all_cells_makes_no_table(tmp_path: Path) -> None:
    save(tmp_path / "nats", whole_nats(CELLS[:3]))
    with pytest.raises(TableError, match=f"^{tmp_path}/nats: holds 3 of the 15,625 cells"):
        import_nb201(tmp_path / "nats", tmp_path / "table", silent)
    assert not (tmp_path / "table").exists()


@pytest.mark.slow
def test_a_whole_file_becomes_an_oracle(tmp_path: Path) -> None:
    torch.save(whole_nb201(CELLS), tmp_path / "torch", _use_new_zipfile_serialization=False)
    assert import_nb201(tmp_path / "torch", tmp_path / "table", silent) == 15_625
    oracle = load_nb201(tmp_path / "table")
    for index in (0, 1, 15_624):
        mean = fmean(accuracy(index, "cifar10", "ori-test", seed) for seed in SEEDS)
        found = oracle.query(decode(CELLS[index]), "cifar10")
        assert 100 * found.test == pytest.approx(mean, abs=1e-4)
        assert found.parameters == 100_000 + index


SOURCES = {
    "cifar10": (("cifar10-valid", "x-valid"), ("cifar10", "ori-test")),
    "cifar100": (("cifar100", "x-valid"), ("cifar100", "x-test")),
    "imagenet16-120": (("ImageNet16-120", "x-valid"), ("ImageNet16-120", "x-test")),
}


def test_a_folder_becomes_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nb201_import, "check_cells", len)  # three are quicker to write than all
    folder, told = nats_folder(tmp_path / "simple", CELLS[:3], 3), []
    assert import_nb201(folder, tmp_path / "table", lambda *how_far: told.append(how_far)) == 3
    assert told == [("simple", 1, 3), ("simple", 2, 3), ("simple", 3, 3)]
    found = read_columns(tmp_path / "table", COLUMNS)
    assert found["arch_str"] == CELLS[:3]
    assert found["params_cifar10"] == ["100000", "100001", "100002"]
    assert found["mflops_cifar10"] == ["10.0", "10.001", "10.002"]
    mean = fmean(accuracy(2, "ImageNet16-120", "x-test", seed) for seed in SEEDS)
    assert float(found["in16_test"][2]) == pytest.approx(mean, abs=1e-4)


@pytest.mark.slow
def test_a_whole_folder_becomes_an_oracle(tmp_path: Path) -> None:
    folder = nats_folder(tmp_path / "simple", CELLS, len(CELLS))
    assert import_nb201(folder, tmp_path / "table", silent) == 15_625
    oracle = load_nb201(tmp_path / "table")
    for index in (0, 1, 15_624):
        for dataset, (valid, test) in SOURCES.items():
            found = oracle.query(decode(CELLS[index]), dataset)
            means = [fmean(accuracy(index, *source, seed) for seed in SEEDS) for source in (valid, test)]
            assert [100 * found.valid, 100 * found.test] == pytest.approx(means, abs=1e-4)
        own = oracle.query(decode(CELLS[index]), "cifar10")
        assert (own.parameters, own.flops) == (100_000 + index, 20_000_000 + 2_000 * index)


def row(tmp_path: Path, value: object) -> dict[str, Any]:
    """What is read from the file of the first cell."""
    save(tmp_path / "000000.pickle.pbz2", value)
    save(tmp_path / "meta.pickle.pbz2", {"meta_archs": CELLS[:1]})
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(nb201_import, "check_cells", len)
        return {name: values[0] for name, values in nb201_import.read_folder(tmp_path, silent).items()}


@pytest.mark.parametrize("seeds", [(777,), (777, 999)])
def test_means_are_over_the_seeds_that_there_are(tmp_path: Path, seeds: tuple[int, ...]) -> None:
    found = row(tmp_path, cell_file(0, CELLS[0], seeds))
    for dataset, (valid, test) in SOURCES.items():
        for part, source in (("valid", valid), ("test", test)):
            mean = fmean(accuracy(0, *source, seed) for seed in seeds)
            assert found[column(DATASETS[dataset], part)] == pytest.approx(mean, abs=1e-4)


def without(*keys: Any) -> Callable[[dict[str, Any]], None]:
    """Takes something away from the file of a cell."""

    def change(value: dict[str, Any]) -> None:
        for key in keys[:-1]:
            value = value[key]
        del value[keys[-1]]

    return change


def setting(key: str, new: object) -> Callable[[dict[str, Any]], None]:
    """Changes a value of one training on CIFAR-10."""

    def change(value: dict[str, Any]) -> None:
        value["200"]["all_results"]["cifar10", 777][key] = new

    return change


RESULTS = ("200", "all_results")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("200"), "has no trainings of 200 epochs, '200' or 'full'"),
        (without("200", "arch_str"), "KeyError: 'arch_str'"),
        (without(*RESULTS, ("cifar10", 888), "epochs"), "KeyError: 'epochs'"),
        (without(*RESULTS, ("cifar100", 888), "eval_acc1es", "x-test@199"), "KeyError: 'x-test@199'"),
        (setting("epochs", "many"), "ValueError: a training of another number of epochs than 200"),
        (setting("epochs", 199), "ValueError: a training of another number of epochs than 200"),
        (setting("eval_acc1es", {"ori-test@199": 101.0}), "an accuracy of 101.0 %"),
        (setting("eval_acc1es", {"ori-test@199": 1000.0}), "ValueError: cifar10, ori-test: an accuracy of"),
        (setting("eval_acc1es", {"ori-test@199": float("nan")}), "ValueError: .* an accuracy of nan"),
        (setting("eval_acc1es", {"ori-test@199": "good"}), "not as its authors write it"),
        (setting("params", -1.0), "ValueError: -1.0 million parameters"),
        (setting("flop", float("nan")), "ValueError: .* nan million multiply-adds"),
        (setting("params", None), "TypeError"),
        (lambda value: value["200"].update(all_results=[]), "AttributeError"),
        (lambda value: value["200"].update(all_results={}), "no training on cifar10"),
        (lambda value: value["200"].update(all_results={"cifar10": {}}), "ValueError"),
        (lambda value: value["200"].update(arch_str=CELLS[1]), "is about '.*'; the list of cells says"),
        (lambda value: value["200"].update(arch_str=[1]), "is about a list; the list of cells says"),
        (setting("eval_acc1es", {"ori-test@199": 10**400}), "OverflowError"),
    ],
)
def test_a_file_that_is_another(tmp_path: Path, change: Callable[[Any], None], message: str) -> None:
    value = cell_file(0, CELLS[0])
    change(value)
    with pytest.raises(TableError, match=f"^{tmp_path}/000000.pickle.pbz2: .*({message})"):
        row(tmp_path, value)


def test_a_training_on_cifar10_is_needed(tmp_path: Path) -> None:
    value = cell_file(0, CELLS[0])
    trials = value["200"]["all_results"]
    value["200"]["all_results"] = {key: own for key, own in trials.items() if key[0] != "cifar10"}
    with pytest.raises(TableError, match="not as its authors write it"):
        row(tmp_path, value)


def test_a_file_that_is_missing_or_damaged(tmp_path: Path) -> None:
    folder = nats_folder(tmp_path, CELLS, 1)
    out, path = tmp_path / "table", tmp_path / "000000.pickle.pbz2"
    with pytest.raises(TableError, match=r"000001.pickle.pbz2: cannot be read \(No such file"):
        import_nb201(folder, out, silent)
    whole = path.read_bytes()
    for data, message in (
        (whole[:-10], "is cut off"),
        (pickle.dumps({}), r"cannot be read \(Invalid data stream\)"),
        (whole[:100] + b"\0" + whole[101:], "cannot be read|no whole pickle"),
    ):
        path.write_bytes(data)
        with pytest.raises(TableError, match=f"000000.pickle.pbz2: ({message})"):
            import_nb201(folder, out, silent)
    save(path, [1])
    with pytest.raises(TableError, match=r"000000.pickle.pbz2: holds a list, not a dictionary"):
        import_nb201(folder, out, silent)
    save(path, {"200": Path("x")})
    with pytest.raises(TableError, match=r"000000.pickle.pbz2: refused: it asks for pathlib"):
        import_nb201(folder, out, silent)
    assert not out.exists()


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = nats_folder(tmp_path, CELLS, 0)
    monkeypatch.setattr(nb201_import, "MOST_BYTES", 1000)
    with pytest.raises(TableError, match=r"meta.pickle.pbz2: unpacks to more than 1,000 bytes"):
        import_nb201(folder, tmp_path / "table", silent)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "has no list 'meta_archs' of cells"),
        ({"meta_archs": [1]}, "has no list 'meta_archs' of cells"),
        (meta(CELLS[:9]), "holds 9 of the 15,625 cells"),
        (meta([*CELLS, "|x~0|"]), "'.x~0.' is not a cell of the nb201 space"),
    ],
)
def test_a_list_of_cells_that_is_another(tmp_path: Path, value: object, message: str) -> None:
    save(tmp_path / "meta.pickle.pbz2", value)
    with pytest.raises(TableError, match=f"^{tmp_path}/meta.pickle.pbz2: {message}"):
        import_nb201(tmp_path, tmp_path / "table", silent)
