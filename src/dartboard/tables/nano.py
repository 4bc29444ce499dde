"""nano: dartboard's own benchmark, all 216 cells of the nano space trained with several seeds.

It ships with the package, so that regret can be measured anywhere in a minute. docs/nano.md says how it was
made, what it cost, and how well it tells architectures apart; `scripts/make_nano.py` makes it again.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import TableError
from dartboard.space import Genotype, get_space, restrict
from dartboard.tables.base import SHIPPED, TABLES, Floats, Ranking, Record, check_dataset
from dartboard.utils.npz import DAMAGED, read_array

FILE = "nano.npz"
SPLITS = ("valid", "test")
LARGEST = 1 << 53
"""Upper bound of all numbers of the table."""
ARRAYS = ("valid", "test", "loss", "seconds", "parameters", "flops", "facts")
Split = Literal["valid", "test"]
Ops = tuple[str, ...]


class NanoBench:
    """The nano benchmark.

    Args:
        correct: Number of images classified correctly, by split (`valid` or `test`) [cells, seeds, times].
        loss: Mean training loss [cells, seeds, times].
        seconds: CPU time of each training [cells, seeds].
        parameters: Parameters of each network [cells].
        flops: FLOPs of one image [cells], two per multiply-add.
        facts: How it was made: settings, versions, data set and the number of images of each split.

    Attributes:
        facts: As passed.
        loss: As passed.
    """

    name = "nano"

    def __init__(
        self, correct: Mapping[str, NDArray[np.int64]], loss: Floats, seconds: Floats,
        parameters: NDArray[np.int64], flops: NDArray[np.int64], facts: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.space = get_space(self.name)
        self.facts, self.loss = facts, loss
        self.datasets: tuple[str, ...] = (str(facts["data"]),)
        self._accuracies = {split: correct[split] / int(facts["images"][split]) for split in SPLITS}
        self._seconds, self._parameters, self._flops = seconds, parameters, flops
        self._rows = {ops: row for row, ops in enumerate(all_ops())}
        self._ranking = Ranking(self._accuracies["test"][:, :, -1].mean(axis=1))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def seeds(self) -> int:
        """Number of seeds that each cell was trained with."""
        return int(self._seconds.shape[1])

    def query(self, genotype: Genotype, dataset: str) -> Record:
        check_dataset(self, dataset)
        row = self.row(genotype)
        return Record(
            valid=float(self._accuracies["valid"][row, :, -1].mean()),
            test=float(self._accuracies["test"][row, :, -1].mean()),
            parameters=int(self._parameters[row]),
            flops=int(self._flops[row]),
            seconds=float(self._seconds[row].mean()),
        )

    def ranking(self, dataset: str) -> Ranking:
        check_dataset(self, dataset)
        return self._ranking

    def curves(self, split: Split, genotype: Genotype | None = None) -> Floats:
        """Accuracies after every `facts["every"]` epochs [seeds, times]; by default [cells, seeds, times]."""
        accuracies = self._accuracies[split]
        return accuracies if genotype is None else accuracies[self.row(genotype)]

    def row(self, genotype: Genotype) -> int:
        """Index of a cell in the arrays, which are in the order of `enumerate_genotypes`."""
        cell = restrict(self.space, genotype).cells["cell"]
        return self._rows[tuple(edge.ops[0] for edge in cell.edges)]


def all_ops() -> list[Ops]:
    """The ops of every cell of the space, in the order of `enumerate_genotypes`."""
    return list(product(*(edge.ops for edge in get_space("nano").cells["cell"].edges)))


@TABLES.register("nano")
def load_nano(path: Path) -> NanoBench:
    """nano: all 216 cells of the nano space, trained with several seeds; ships with the package.

    Raises:
        TableError: If the file is not what its checksum says, or no such table.
    """
    try:
        data = path.read_bytes()
        checksum = path.with_suffix(".sha256").read_text(encoding="ascii").split()[0]
    except (OSError, ValueError, IndexError) as error:
        raise TableError(f"{path}: the nano benchmark or its checksum cannot be read: {error}") from None
    if hashlib.sha256(data).hexdigest() != checksum:
        raise TableError(f"{path} is damaged: its sha256 is not the one in {path.with_suffix('.sha256')}")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            columns = {name: read_array(archive, name) for name in ARRAYS}
        facts = json.loads(str(columns.pop("facts")))
        _check_columns(columns, facts)
    except (*DAMAGED, TypeError, AttributeError) as error:
        raise TableError(f"{path} is not a table of the nano benchmark: {error}") from None
    correct = {split: columns[split].astype(np.int64) for split in SPLITS}
    loss, seconds = columns["loss"].astype(np.float64), columns["seconds"].astype(np.float64)
    parameters, flops = columns["parameters"].astype(np.int64), columns["flops"].astype(np.int64)
    return NanoBench(correct, loss, seconds, parameters, flops, facts)


def _check_columns(columns: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Raises a ValueError if shapes or numbers cannot be those of the benchmark."""
    cells, seeds, times = columns["test"].shape
    full, pairs = (cells, seeds, times), (cells, seeds)
    shapes = {"valid": full, "test": full, "loss": full, "seconds": pairs, "parameters": (cells,)}
    if cells != len(all_ops()) or not seeds or not times:
        raise ValueError(f"it holds {cells:,} cells, {seeds} seeds and {times} times")
    for name, column in columns.items():
        if column.shape != shapes.get(name, (cells,)):
            raise ValueError(f"{name} has the shape {column.shape}")
        most = int(facts["images"][name]) if name in SPLITS else LARGEST
        kind = np.floating if name in ("loss", "seconds") else np.integer
        if not np.issubdtype(column.dtype, kind) or not ((column >= 0) & (column <= most)).all():
            raise ValueError(f"{name} has numbers that cannot be")
    if not isinstance(facts["data"], str) or not all(int(facts["images"][split]) > 0 for split in SPLITS):
        raise ValueError("it does not say which images it is about")


SHIPPED["nano"] = lambda: Path(str(resources.files(__package__).joinpath(FILE)))
