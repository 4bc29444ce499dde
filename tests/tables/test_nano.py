"""The benchmark that ships with the package."""

import hashlib
import io
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.stats import spearmanr

from dartboard.data import load_dataset
from dartboard.errors import GenotypeError, TableError
from dartboard.nn.costs import count_flops, count_parameters
from dartboard.nn.network import CellNet, NetConfig
from dartboard.space import GENOTYPE_FORMATS, adopt, enumerate_genotypes, get_space, sample
from dartboard.tables import NanoBench, load_nano, load_table
from dartboard.tables.base import SHIPPED
from dartboard.tables.nano import all_ops

DATA = "cluttered-digits"


@pytest.fixture(scope="module")
def oracle() -> NanoBench:
    found = load_table("nano")
    assert isinstance(found, NanoBench)
    return found


def test_every_cell_of_the_space_is_there(oracle: NanoBench) -> None:
    rows = [oracle.row(own) for own in enumerate_genotypes(oracle.space)]
    assert rows == list(range(216)) == list(range(len(oracle)))
    assert oracle.seeds >= 3


def test_it_was_made_with_the_images_that_ship(oracle: NanoBench) -> None:
    data = load_dataset(oracle.datasets[0])
    assert oracle.datasets == (DATA,)
    assert oracle.facts["fingerprints"]["train"] == data.train.fingerprint()
    assert data.test is not None
    assert oracle.facts["fingerprints"]["test"] == data.test.fingerprint()


def test_a_record_is_the_mean_of_the_last_epoch(oracle: NanoBench) -> None:
    cell = sample(oracle.space, Random(3))
    record, curves = oracle.query(cell, DATA), oracle.curves("test", cell)
    assert record.test == pytest.approx(curves[:, -1].mean())
    assert record.valid == pytest.approx(oracle.curves("valid", cell)[:, -1].mean())
    assert curves.shape == (oracle.seeds, oracle.facts["options"]["epochs"] // oracle.facts["every"])
    assert record.seconds is not None
    assert record.seconds > 0


def test_accuracies_are_shares_of_whole_images(oracle: NanoBench) -> None:
    for part in ("valid", "test"):
        right = oracle.curves(part) * oracle.facts["images"][part]  # type: ignore[arg-type]
        np.testing.assert_allclose(right, right.round(), atol=1e-9)
        assert 0 <= right.min() < right.max() <= oracle.facts["images"][part]


def test_sizes_are_those_of_the_network(oracle: NanoBench) -> None:
    config = NetConfig(channels=oracle.facts["options"]["net"]["channels"], classes=10, input=(1, 12, 12))
    for seed in range(5):
        cell = sample(oracle.space, Random(seed))
        space, record = adopt(get_space("nano"), cell), oracle.query(cell, DATA)
        assert record.parameters == count_parameters(CellNet(space, config))
        assert record.flops == count_flops(space, config)


def test_cells_differ_more_than_seeds(oracle: NanoBench) -> None:
    """What a benchmark is for: see docs/nano.md for the figures."""
    tests = oracle.curves("test")[:, :, -1]
    between, within = tests.mean(axis=1).std(ddof=1), np.sqrt(tests.var(axis=1, ddof=1).mean())
    assert between > 4 * within
    alive = tests.mean(axis=1) > 0.2
    between, within = tests[alive].mean(axis=1).std(ddof=1), np.sqrt(tests[alive].var(axis=1, ddof=1).mean())
    assert between > 2 * within
    assert spearmanr(tests[:, 0], tests[:, 1]).statistic > 0.8


def test_cells_that_lead_nowhere_guess(oracle: NanoBench) -> None:
    dead = [row for row, ops in enumerate(all_ops()) if ops[1] == "none" and "none" in (ops[0], ops[2])]
    assert len(dead) == 11
    tests = oracle.curves("test")[:, :, -1].mean(axis=1)
    assert tests[dead].max() < 0.2 < np.delete(tests, dead).min() < np.delete(tests, dead).max() < 0.97


def test_edges_that_are_none_may_be_left_out(oracle: NanoBench) -> None:
    for row, whole in enumerate(enumerate_genotypes(oracle.space)):
        told = json.loads(GENOTYPE_FORMATS["json"].encode(whole))
        told["cell"]["edges"] = [edge for edge in told["cell"]["edges"] if edge[0] != "none"]
        if len(told["cell"]["edges"]) == 2:
            assert oracle.row(GENOTYPE_FORMATS["json"].decode(json.dumps(told))) == row


def test_another_data_set_is_refused(oracle: NanoBench) -> None:
    with pytest.raises(TableError, match="knows nothing of data set 'cifar10'; it knows cluttered-digits"):
        oracle.query(sample(oracle.space, Random(0)), "cifar10")
    with pytest.raises(TableError, match="knows nothing"):
        oracle.ranking("digits")


def test_a_cell_of_another_space_is_refused(oracle: NanoBench) -> None:
    with pytest.raises(GenotypeError):
        oracle.query(sample(get_space("nb201"), Random(0)), DATA)


def copy(folder: Path, data: bytes, digest: str | None = None) -> Path:
    path = folder / "nano.npz"
    path.write_bytes(data)
    path.with_suffix(".sha256").write_text(f"{digest or hashlib.sha256(data).hexdigest()}  nano.npz\n")
    return path


def test_a_damaged_file_is_recognized(tmp_path: Path) -> None:
    data = SHIPPED["nano"]().read_bytes()
    assert len(load_nano(copy(tmp_path, data))) == 216
    digest = hashlib.sha256(data).hexdigest()
    with pytest.raises(TableError, match="is damaged"):
        load_nano(copy(tmp_path, data[:-1] + bytes([data[-1] ^ 1]), digest))
    for wrong in (b"", data[:500], b"PK\x03\x04 no archive"):
        with pytest.raises(TableError, match="is not a table of the nano benchmark"):
            load_nano(copy(tmp_path, wrong))
    with pytest.raises(TableError, match="cannot be read"):
        load_nano(tmp_path / "nothing.npz")


def changed(**columns: object) -> bytes:
    """The file with some of its columns changed."""
    with np.load(SHIPPED["nano"](), allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    held = io.BytesIO()
    np.savez_compressed(held, **(found | {name: np.array(own) for name, own in columns.items()}))
    return held.getvalue()


def told(**facts: object) -> str:
    """The facts of the file with some of them changed."""
    with np.load(SHIPPED["nano"](), allow_pickle=False) as arrays:
        return json.dumps(json.loads(str(arrays["facts"])) | facts)


TESTS = np.zeros((216, 3, 6), np.uint16)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"facts": "[" * 100_000}, "recursion"),
        ({"facts": "[]"}, "list"),
        ({"facts": told(images={"valid": float("inf"), "test": 2048})}, "infinity"),
        ({"facts": told(images={"valid": 0, "test": 2048})}, "valid has numbers that cannot be"),
        ({"facts": told(images={"valid": 1024, "test": 3})}, "test has numbers that cannot be"),
        ({"facts": told(data=3)}, "which images"),
        ({"test": TESTS[:215]}, "it holds 215 cells, 3 seeds and 6 times"),
        ({"test": TESTS[:, :, :0]}, "it holds 216 cells, 3 seeds and 0 times"),
        ({"valid": TESTS[:, :, :5]}, "valid has the shape"),
        ({"test": TESTS.astype(np.float64)}, "test has numbers that cannot be"),
        ({"seconds": np.full((216, 3), np.nan)}, "seconds has numbers that cannot be"),
        ({"parameters": np.full(216, -1)}, "parameters has numbers that cannot be"),
        ({"flops": np.full(216, "x")}, "flops has numbers that cannot be"),
    ],
)
def test_numbers_that_cannot_be(columns: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=f"is not a table of the nano benchmark: .*{message}"):
        load_nano(copy(tmp_path, changed(**columns)))


def test_it_is_small() -> None:
    assert SHIPPED["nano"]().stat().st_size < 200_000
