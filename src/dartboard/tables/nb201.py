"""NAS-Bench-201, the topology space of NATS-Bench: 15,625 cells on three data sets (Dong & Yang 2020).

Accuracies are those after 200 epochs, means over the seeds that were trained. On CIFAR-10 `valid` comes from
training on one half of the training images and `test` from training on all of them; on the other two both
come from the same training, and share the images that were held out.

The table is a .csv.gz file: the first line names the columns, each other line is a cell; values are separated
by commas and contain no comma, no quote and no line break. The CRC-32 and the length at the end of the gzip
file are checked when it is read, so a file that is cut off or altered is refused.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from dartboard.errors import GenotypeError, TableError
from dartboard.space import GENOTYPE_FORMATS, NONE, Genotype, decode, get_space, restrict
from dartboard.tables.base import TABLES, Floats, Ranking, Record, check_dataset
from dartboard.utils.atomic import write_bytes

CELL, PARAMETERS, MULTIPLY_ADDS = "arch_str", "params_cifar10", "mflops_cifar10"
MILLION = 1_000_000
WIDTH = 64
"""Input channels of the classifier."""
INPUT, ZERO = "0", "#"
MOST_BYTES = 1 << 28
"""Largest unpacked size of a table."""
_OPS = re.compile(r"([^|~+]+)~")
_SEPARATORS = re.compile(r'[,"\n\r\v\f\x1c-\x1e\x85\u2028\u2029]')


@dataclass(frozen=True)
class TableDataset:
    """A data set of the benchmark: the prefix of its columns, its classes, height and width of an image."""

    prefix: str
    classes: int
    pixels: int

    def parameters(self, cifar10: int) -> int:
        """Parameters of a network, from those on CIFAR-10: only the classifier differs."""
        return cifar10 + (WIDTH + 1) * (self.classes - DATASETS["cifar10"].classes)

    def flops(self, cifar10: int) -> int:
        """FLOPs of a network, two per multiply-add, from its multiply-adds on CIFAR-10.

        All but those of the classifier are proportional to the number of pixels.
        """
        reference = DATASETS["cifar10"]
        convolutions = (cifar10 - WIDTH * reference.classes) * self.pixels**2 // reference.pixels**2
        return 2 * (convolutions + WIDTH * self.classes)


DATASETS = {
    "cifar10": TableDataset("cifar10", 10, 32),
    "cifar100": TableDataset("cifar100", 100, 32),
    "imagenet16-120": TableDataset("in16", 120, 16),
}


def column(dataset: TableDataset, part: str) -> str:
    """The name of the column with the accuracies of a part, `valid` or `test`, in percent."""
    return f"{dataset.prefix}_{part}"


COLUMNS = (
    CELL,
    *(column(dataset, part) for dataset in DATASETS.values() for part in ("valid", "test")),
    PARAMETERS,
    MULTIPLY_ADDS,
)


class NasBench201:
    """The benchmark from its columns.

    Args:
        cells: All cells of the space, as NAS-Bench-201 writes them.
        accuracies: Accuracies from 0 to 1 by the name of their column, each [cells].
        parameters: Parameters on CIFAR-10 [cells].
        multiply_adds: Multiply-adds of an image of CIFAR-10 [cells].
    """

    name = "nb201"
    datasets = tuple(DATASETS)

    def __init__(
        self, cells: Sequence[str], accuracies: dict[str, Floats], parameters: Floats, multiply_adds: Floats
    ) -> None:
        self.space = get_space(self.name)
        self._cells = cells
        self._rows = {cell: row for row, cell in enumerate(cells)}
        self._accuracies = accuracies
        self._parameters, self._multiply_adds = parameters, multiply_adds
        self._rankings: dict[str, Ranking] = {}
        self._classes: dict[str, list[str]] = {}  # cells of each isomorphism class, by its text

    def __len__(self) -> int:
        return len(self._cells)

    def query(self, genotype: Genotype, dataset: str) -> Record:
        check_dataset(self, dataset)
        about, row = DATASETS[dataset], self._row(genotype)
        return Record(
            valid=float(self._accuracies[column(about, "valid")][row]),
            test=float(self._accuracies[column(about, "test")][row]),
            parameters=about.parameters(int(self._parameters[row])),
            flops=about.flops(int(self._multiply_adds[row])),
        )

    def ranking(self, dataset: str) -> Ranking:
        check_dataset(self, dataset)
        if dataset not in self._rankings:
            self._rankings[dataset] = Ranking(self._accuracies[column(DATASETS[dataset], "test")])
        return self._rankings[dataset]

    def best(self, dataset: str) -> Genotype:
        """The cell with the highest test accuracy, the first where several have it."""
        check_dataset(self, dataset)
        tests = self._accuracies[column(DATASETS[dataset], "test")]
        return decode(self._cells[int(tests.argmax())])

    def isomorphic(self, genotype: Genotype) -> list[Genotype]:
        """All other cells that the benchmark counts as the same one; see `unique_text`."""
        text = self._cells[self._row(genotype)]
        if not self._classes:
            for cell in self._cells:
                self._classes.setdefault(unique_text(cell), []).append(cell)
        return [decode(cell) for cell in self._classes[unique_text(text)] if cell != text]

    def _row(self, genotype: Genotype) -> int:
        """Row of a genotype; it may leave out edges that are `none`."""
        try:
            return self._rows[GENOTYPE_FORMATS["nb201"].encode(genotype)]
        except (KeyError, GenotypeError):
            restrict(self.space, genotype)  # raises an error that says what is wrong
            raise


@TABLES.register("nb201")
def load_nb201(path: Path) -> NasBench201:
    """NAS-Bench-201: 15,625 cells on CIFAR-10, CIFAR-100 and ImageNet16-120 (Dong & Yang 2020).

    The table has the columns `COLUMNS` (others are ignored) and a line for each cell.

    Raises:
        TableError: If the file is not such a table, or does not hold every cell once.
    """
    columns = read_columns(path, COLUMNS)
    try:
        check_cells(columns[CELL])
        accuracies = {name: numbers(columns, name, most=100) / 100 for name in COLUMNS[1:-2]}
        parameters = numbers(columns, PARAMETERS, most=MILLION * MILLION)
        multiply_adds = (numbers(columns, MULTIPLY_ADDS, most=MILLION) * MILLION).round()
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    return NasBench201(columns[CELL], accuracies, parameters, multiply_adds)


def read_columns(path: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """The texts of some columns of a table, by name; other columns are ignored.

    Raises:
        TableError: If the file is damaged, or lacks a column.
    """
    try:
        with gzip.open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise TableError(f"unpacks to more than {MOST_BYTES:,} bytes; that is not a table of a benchmark")
        first, *lines = data.decode().splitlines() or [""]
        head = first.split(",")
        if missing := [name for name in names if name not in head]:
            raise TableError(f"has no column {', '.join(missing)}; it has {', '.join(head)[:200] or 'none'}")
        for number, line in enumerate(lines, start=2):
            if line.count(",") + 1 != len(head):
                raise TableError(
                    f"line {number} has {line.count(',') + 1} values, the first line {len(head)}"
                )
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path}: not a whole .csv.gz table ({error})") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise TableError(f"{path}: not a table: its text is not in UTF-8") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    values = ",".join(lines).split(",") if lines else []  # one list is faster than one for each line
    return {name: values[head.index(name) :: len(head)] for name in names}


def numbers(columns: Mapping[str, Sequence[str]], name: str, *, most: float) -> Floats:
    """A column of numbers from 0 to `most` [lines].

    Raises:
        TableError: If a line holds anything else; says which.
    """
    try:
        column = np.array(list(map(float, columns[name])))
    except ValueError as error:
        raise TableError(f"column {name}: {error}") from None
    wrong = np.flatnonzero(~((column >= 0) & (column <= most)))
    if wrong.size:
        value = columns[name][wrong[0]]
        raise TableError(f"column {name}, line {wrong[0] + 2}: expected 0 to {most:,.0f}, got {value}")
    return column


def write_columns(path: Path, columns: Mapping[str, Iterable[object]]) -> None:
    """Writes a table atomically; the same columns always give the same bytes.

    Raises:
        TableError: If a value contains a comma, a quote or a line break.
    """
    rows = [tuple(columns), *(tuple(map(str, row)) for row in zip(*columns.values(), strict=True))]
    if wrong := next((value for row in rows for value in row if _SEPARATORS.search(value)), None):
        raise TableError(
            f"{wrong[:60]!r} cannot stand in a table: it has a comma, a quote or an end of a line"
        )
    text = "".join(",".join(row) + "\n" for row in rows)
    write_bytes(path, gzip.compress(text.encode(), mtime=0))


def all_cells() -> list[str]:
    """Every cell of the space, as NAS-Bench-201 writes them."""
    edges = get_space("nb201").cells["cell"].edges
    form = "|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|"
    return [form.format(*ops) for ops in product(*(edge.ops for edge in edges))]


def check_cells(cells: Sequence[str]) -> None:
    """Raises a TableError unless every cell of the space is there exactly once."""
    expected, distinct = set(all_cells()), set(cells)
    if unknown := next((cell for cell in cells if cell not in expected), None):
        raise TableError(f"{unknown[:200]!r} is not a cell of the nb201 space")
    if len(distinct) < len(expected):
        raise TableError(
            f"holds {len(distinct):,} of the {len(expected):,} cells of the nb201 space; all are needed"
        )
    if len(cells) > len(distinct):
        raise TableError(f"holds {len(cells) - len(distinct):,} cells more than once")


def unique_text(text: str) -> str:
    """A text that isomorphic cells share, from a cell as NAS-Bench-201 writes it (Dong & Yang 2020).

    It is the last node as a formula of the cell's input. `none` is zero, and so is every op of a node that is
    just one zero; `skip_connect` puts the formula of its node in its place; the terms of a sum are sorted.
    Of the 15,625 cells 6,466 are different in this sense. The rule is the benchmark's own and goes no
    further: zeros stay as terms of sums, what a skip puts in place is sorted as one term, and equal terms may
    or may not share their weights. So cells with different texts may still compute the same, and cells with
    one text may differ in parameters and in accuracy.
    """
    ops = iter(_OPS.findall(text))
    formulas = [INPUT]
    for node in range(1, text.count("+") + 2):
        terms = []
        for source in range(node):
            formula, op = formulas[source], next(ops)
            if op == NONE or formula == ZERO:
                terms.append(ZERO)
            else:
                terms.append(formula if op == "skip_connect" else f"({formula})@{op}")
        formulas.append("+".join(sorted(terms)))
    return formulas[-1]
