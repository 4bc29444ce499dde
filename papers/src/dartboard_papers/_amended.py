"""Shared parts of reproductions that search with DARTS' cells: spaces, rates, counts of ops."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from dartboard.runs import Run
from dartboard.search.build import make_loaders
from dartboard.search.config import SearchConfig, build
from dartboard.space import Genotype
from dartboard.space.catalog import DARTS_OPS, dense_edges, fixed_edges_cell, keep_per_node, stacked
from dartboard.space.files import space_to_json
from dartboard.space.formats import decode
from dartboard.space.spec import NONE, Cell, SearchSpace, Stack
from dartboard.utils.atomic import write_text
from dartboard_papers._searches import configure
from dartboard_papers.base import RunOptions, Scale

STAGES = 3
SKIP, MAXIMUM, AVERAGE, CONVOLUTION = "skip-connect", "max-pooling", "avg-pooling", "convolutions"
FAMILIES = {
    "skip_connect": SKIP,
    "max_pool_3x3": MAXIMUM,
    "avg_pool_3x3": AVERAGE,
    "sep_conv_3x3": CONVOLUTION,
    "sep_conv_5x5": CONVOLUTION,
    "dil_conv_3x3": CONVOLUTION,
    "dil_conv_5x5": CONVOLUTION,
}
"""Kind of each of DARTS' ops."""
KINDS = (SKIP, MAXIMUM, AVERAGE, CONVOLUTION)


class Images(Scale):
    """Images to search with, and their augmentation."""

    images: str = Field(default="digits", description="what is told apart")
    pad: int = Field(default=0, ge=0, description="zeros around images, of which crops are taken")
    flip: bool = Field(default=False, description="flip images at random")

    def chosen(self, options: RunOptions) -> str:
        """Name of the images: those of the options if they name some."""
        return options.data or self.images

    def data(self, options: RunOptions) -> dict[str, Any]:
        """The images and their augmentation as settings of a search."""
        return {"name": self.chosen(options), "pad": self.pad, "flip": self.flip}


def small_darts(nodes: int, cells: int) -> SearchSpace:
    """DARTS' space with fewer inner nodes a cell and fewer cells; DARTS has 4 and 8.

    Fewer cells than three make as many resolutions as there are cells.
    """
    edges = dense_edges(nodes + 2, DARTS_OPS, first=2)
    output = tuple(range(2, nodes + 2))
    cell = Cell(2, nodes + 2, edges, output, keep_per_node(edges, 2))
    return stacked(f"darts-{nodes}-{cells}", cell, Stack(cells, stages=min(STAGES, cells)))


def small_s2(cells: int) -> SearchSpace:
    """S2 with another number of cells."""
    cell = fixed_edges_cell(("skip_connect", "sep_conv_3x3"))
    return stacked(f"s2-{cells}", cell, Stack(cells=cells, shared=False))


def keep_space(space: SearchSpace, folder: Path) -> str:
    """Writes the space to a file that searches can name; returns its path."""
    path = folder / f"{space.name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_text(path, space_to_json(space) + "\n")
    return str(path)


def count_steps(config: SearchConfig) -> int:
    """Number of architecture steps of a search."""
    parts = build(config)
    loaders = make_loaders(parts.data, parts.method, parts.options, torch.device("cpu"))
    loaders.close()
    return loaders.train.steps * (config.epochs - parts.method.warmup_epochs(config.epochs))


def with_travel(config: SearchConfig, travel: float) -> SearchConfig:
    """The same search with an architecture learning rate such that rate times steps is `travel`.

    So a search of few steps moves the architecture as far as the paper's long one.
    """
    method = {"name": config.method.name, **config.method.options, "lr": travel / count_steps(config)}
    return configure(config.model_dump(mode="json") | {"method": method})


def searches_with(
    method: Mapping[str, Any], base: Mapping[str, Any], travel: float, seeds: int
) -> list[SearchConfig]:
    """Searches with a method and the learning rate of `with_travel`, one for each seed."""
    first = with_travel(configure(base, {"method": dict(method)}), travel)
    return [first.model_copy(update={"seed": seed}) for seed in range(seeds)]


def read_genotype(values: Any) -> Genotype:
    """A genotype from its JSON value in a run."""
    return decode(json.dumps(values))


def count_kinds(genotypes: Iterable[Genotype]) -> dict[str, int]:
    """Number of edges of all cells with each kind of op."""
    counts = Counter(
        FAMILIES[edge.ops[0]]
        for genotype in genotypes
        for cell in genotype.cells.values()
        for edge in cell.edges
        if edge.ops[0] != NONE
    )
    return {kind: counts[kind] for kind in KINDS}


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """The counts as percentages of their sum."""
    total = sum(counts.values())
    return {kind: 100 * count / total for kind, count in counts.items()}


def final_genotype(run: Run) -> Genotype:
    """Genotype of a finished search."""
    result = run.result()
    assert result is not None  # noqa: S101
    return read_genotype(result["genotype"])


def epoch_genotypes(run: Run) -> list[Genotype]:
    """Genotype that a search would have selected after each epoch."""
    return [read_genotype(run.epoch(row["epoch"])["genotype"]) for row in run.metrics()]


def in_words(cell: Cell) -> str:
    """A cell in one line: for each node its ops and sources, such as `2: skip_connect(0) sep_conv_3x3(1)`."""
    nodes: dict[int, list[str]] = {}
    for edge in cell.edges:
        nodes.setdefault(edge.target, []).append(f"{edge.ops[0]}({edge.source})")
    return "; ".join(f"{node}: {' '.join(inputs)}" for node, inputs in nodes.items())
