from pathlib import Path
from statistics import fmean

import pytest
import torch

from dartboard.errors import TableError
from dartboard.space import decode
from dartboard.tables import IMPORTS, import_nb201, load_nb201, nats_files
from dartboard.tables.csv_table import read_columns
from dartboard.tables.nb201 import COLUMNS, all_cells
from nats_data import SEEDS, accuracy, nats_folder, save, whole_nats, whole_nb201

CELLS = all_cells()[::-1]


def silent(_: str, __: int, ___: int) -> None:
    """Is told and does nothing."""


def test_it_is_registered() -> None:
    assert IMPORTS["nb201"] is import_nb201


def test_folders_and_files_become_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nats_files, "check_cells", len)  # three are quicker to write than all
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
