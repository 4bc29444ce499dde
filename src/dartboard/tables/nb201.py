"""NAS-Bench-201, the topology space of NATS-Bench: 15,625 cells on three data sets (Dong & Yang 2020).

Accuracies are those after 200 epochs, means over the seeds that were trained. On CIFAR-10 `valid` comes from
training on one half of the training images and `test` from training on all of them; on the other two both
come from the same training, and share the images that were held out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from dartboard.errors import GenotypeError, TableError
from dartboard.space import GENOTYPE_FORMATS, Genotype, decode, get_space, restrict
from dartboard.tables.base import TABLES, Floats, Ranking, Record
from dartboard.tables.csv_table import numbers, read_columns
from dartboard.tables.nb201_isomorphism import unique_text

CELL, PARAMETERS, MULTIPLY_ADDS = "arch_str", "params_cifar10", "mflops_cifar10"
MILLION = 1_000_000
WIDTH = 64
"""Channels that enter the classifier."""


@dataclass(frozen=True)
class Task:
    """A data set of the benchmark.

    Args:
        prefix: How the names of its columns begin.
        classes: Classes to tell apart.
        pixels: Pixels along the side of an image.
    """

    prefix: str
    classes: int
    pixels: int

    def parameters(self, cifar10: int) -> int:
        """The parameters of a network here, from those on CIFAR-10: only the classifier is another."""
        return cifar10 + (WIDTH + 1) * (self.classes - TASKS["cifar10"].classes)

    def flops(self, cifar10: int) -> int:
        """The operations of a network here, two a multiply-add, from its multiply-adds on CIFAR-10.

        All but those of the classifier grow with the number of pixels.
        """
        usual = TASKS["cifar10"]
        convolutions = (cifar10 - WIDTH * usual.classes) * self.pixels**2 // usual.pixels**2
        return 2 * (convolutions + WIDTH * self.classes)


TASKS = {
    "cifar10": Task("cifar10", 10, 32),
    "cifar100": Task("cifar100", 100, 32),
    "imagenet16-120": Task("in16", 120, 16),
}


def column(task: Task, part: str) -> str:
    """The name of the column with the accuracies of a part, `valid` or `test`, in percent."""
    return f"{task.prefix}_{part}"


COLUMNS = (
    CELL,
    *(column(task, part) for task in TASKS.values() for part in ("valid", "test")),
    PARAMETERS,
    MULTIPLY_ADDS,
)


class NasBench201:
    """The benchmark from its columns.

    Args:
        cells: All cells of the space, as NAS-Bench-201 writes them.
        accuracies: By the name of its column, every accuracy as a share [cells].
        parameters: Parameters on CIFAR-10 [cells].
        multiply_adds: Multiply-adds of an image of CIFAR-10 [cells].
    """

    name = "nb201"
    datasets = tuple(TASKS)

    def __init__(
        self, cells: Sequence[str], accuracies: dict[str, Floats], parameters: Floats, multiply_adds: Floats
    ) -> None:
        self.space = get_space(self.name)
        self._cells = cells
        self._rows = {cell: row for row, cell in enumerate(cells)}
        self._accuracies = accuracies
        self._parameters, self._multiply_adds = parameters, multiply_adds
        self._rankings: dict[str, Ranking] = {}

    def __len__(self) -> int:
        return len(self._cells)

    def query(self, genotype: Genotype, dataset: str) -> Record:
        task, row = _task(dataset), self._row(genotype)
        return Record(
            valid=float(self._accuracies[column(task, "valid")][row]),
            test=float(self._accuracies[column(task, "test")][row]),
            parameters=task.parameters(int(self._parameters[row])),
            flops=task.flops(int(self._multiply_adds[row])),
        )

    def ranking(self, dataset: str) -> Ranking:
        if dataset not in self._rankings:
            self._rankings[dataset] = Ranking(self._accuracies[column(_task(dataset), "test")])
        return self._rankings[dataset]

    def best(self, dataset: str) -> Genotype:
        """The cell with the highest test accuracy, the first where several have it."""
        tests = self._accuracies[column(_task(dataset), "test")]
        return decode(self._cells[int(tests.argmax())])

    def isomorphic(self, genotype: Genotype) -> list[Genotype]:
        """All other cells that the benchmark counts as the same one; see `unique_text`."""
        own = self._cells[self._row(genotype)]
        return [decode(cell) for cell in self._classes[unique_text(own)] if cell != own]

    @cached_property
    def _classes(self) -> dict[str, list[str]]:
        """The cells of each text that isomorphic cells share."""
        found: dict[str, list[str]] = {}
        for cell in self._cells:
            found.setdefault(unique_text(cell), []).append(cell)
        return found

    def _row(self, genotype: Genotype) -> int:
        """Where a genotype stands in the columns; it may leave out edges that are `none`."""
        try:
            return self._rows[GENOTYPE_FORMATS["nb201"].encode(genotype)]
        except (KeyError, GenotypeError):
            restrict(self.space, genotype)  # says what is wrong with it
            raise


def _task(dataset: str) -> Task:
    if dataset not in TASKS:
        raise TableError(f"nb201 knows nothing of data set {dataset!r}; it knows {', '.join(TASKS)}")
    return TASKS[dataset]


@TABLES.register("nb201")
def load_nb201(path: Path) -> NasBench201:
    """NAS-Bench-201: 15,625 cells on CIFAR-10, CIFAR-100 and ImageNet16-120 (Dong & Yang 2020).

    The table is a .csv.gz file with the columns `COLUMNS`, others left alone, and a line for each cell.

    Raises:
        TableError: If the file is no such table, or does not hold every cell once.
    """
    columns = read_columns(path, COLUMNS)
    try:
        check_cells(columns[CELL])
        shares = {name: numbers(columns, name, most=100) / 100 for name in COLUMNS[1:-2]}
        sizes = [numbers(columns, PARAMETERS, most=MILLION * MILLION)]
        sizes.append((numbers(columns, MULTIPLY_ADDS, most=MILLION) * MILLION).round())
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    return NasBench201(columns[CELL], shares, *sizes)


def all_cells() -> list[str]:
    """Every cell of the space, as NAS-Bench-201 writes them."""
    edges = get_space("nb201").cells["cell"].edges
    form = "|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|"
    return [form.format(*ops) for ops in product(*(edge.ops for edge in edges))]


def check_cells(cells: Sequence[str]) -> None:
    """Raise unless every cell of the space is there once."""
    wanted, given = set(all_cells()), set(cells)
    if strange := next((cell for cell in cells if cell not in wanted), None):
        raise TableError(f"{strange[:200]!r} is no cell of the nb201 space")
    if len(given) < len(wanted):
        raise TableError(
            f"holds {len(given):,} of the {len(wanted):,} cells of the nb201 space; all are needed"
        )
    if len(cells) > len(given):
        raise TableError(f"holds {len(cells) - len(given):,} cells more than once")
