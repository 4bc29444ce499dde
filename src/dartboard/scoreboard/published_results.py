"""Published results on NAS-Bench-201: table 2 of Li et al. 2021 (GAEA), by the labels of this package.

Methods that are not in this package have the names of the paper. DARTS is in the first block of the table
twice; the numbers here are those of Dong & Yang 2020, to whom most of that block belongs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

DATASETS = ("cifar10", "cifar100", "imagenet16-120")


@dataclass(frozen=True)
class PublishedResult:
    """A row of the table.

    Args:
        means: Mean test accuracy by data set, as a fraction.
        deviations: Standard deviation by data set; None where the paper has none.
        seconds: Duration of the search; None where the paper does not say.
    """

    means: Mapping[str, float]
    deviations: Mapping[str, float | None]
    seconds: int | None


def _row(seconds: int | None, *percents: tuple[float, float | None]) -> PublishedResult:
    named = dict(zip(DATASETS, percents, strict=True))
    means = {name: mean / 100 for name, (mean, _) in named.items()}
    deviations = {name: None if std is None else std / 100 for name, (_, std) in named.items()}
    return PublishedResult(means, deviations, seconds)


TRANSFER = {
    "evolution": _row(None, (93.92, 0.30), (71.84, 0.99), (45.54, 1.03)),
    "random": _row(None, (93.70, 0.36), (71.04, 1.08), (44.57, 1.25)),
    "reinforce": _row(None, (93.85, 0.37), (71.71, 1.09), (45.25, 1.18)),
    "bohb": _row(None, (93.61, 0.52), (70.85, 1.28), (44.42, 1.49)),
    "random-ws": _row(7587, (87.66, 1.69), (58.33, 4.34), (31.14, 3.88)),
    "darts": _row(35781, (54.30, 0.00), (15.61, 0.00), (16.32, 0.00)),
    "setn": _row(34139, (87.64, 0.00), (59.05, 0.24), (32.52, 0.21)),
    "gdas": _row(31609, (93.61, 0.09), (70.70, 0.30), (41.71, 0.98)),
    "gaea-darts": _row(7930, (91.63, 2.57), (68.39, 4.47), (41.59, 4.20)),
    "darts-erm": _row(18112, (84.39, 3.82), (54.81, 7.08), (31.82, 4.78)),
    "gaea-darts-erm": _row(9061, (94.10, 0.29), (72.60, 0.89), (45.81, 0.51)),
    "best cell": _row(None, (94.37, None), (73.51, None), (47.31, None)),
}
"""Searched on CIFAR-10; the cell was trained on each data set."""

DIRECT = {
    "gdas": _row(27923, (93.52, 0.15), (67.52, 0.15), (40.91, 0.12)),
    "gaea-gdas": _row(16754, (93.55, 0.13), (70.47, 0.47), (40.91, 0.12)),
    "darts": _row(10683, (54.30, 0.00), (15.32, 0.00), (28.96, 10.22)),
    "gaea-darts": _row(7930, (91.63, 2.57), (71.87, 0.57), (45.69, 0.56)),
    "darts-erm": _row(18112, (84.39, 3.82), (51.26, 6.14), (31.35, 7.46)),
    "gaea-darts-erm": _row(9061, (94.10, 0.29), (73.43, 0.13), (46.36, 0.00)),
    "best cell": _row(None, (94.37, None), (73.51, None), (47.31, None)),
}
"""Searched on each data set itself."""
