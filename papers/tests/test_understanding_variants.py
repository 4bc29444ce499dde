"""The variants that the authors of understanding-cells drew."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from dartboard.space.formats import from_darts
from dartboard_papers._popular_cells import popular
from dartboard_papers._understanding_training import BASES, darts_family, ladder, shape
from dartboard_papers._understanding_variants import (
    COUNT,
    OPERATIONS,
    connection_variant,
    operation_variant,
)


def test_ops_are_the_draws_of_numpy() -> None:
    """Seeds 1 to 10 of its old generator, whose stream is frozen."""
    draws = [np.random.RandomState(seed).randint(7, size=20) for seed in range(1, COUNT + 1)]
    assert ["".join(map(str, draw)) for draw in draws] == list(OPERATIONS)


@pytest.mark.parametrize("name", BASES)
def test_each_kind_keeps_what_the_other_varies(name: str) -> None:
    for number in range(1, COUNT + 1):
        for group, cell in popular(name).groups:
            wires, ops = (kind(name, number).cells[group] for kind in (connection_variant, operation_variant))
            assert [(edge.target, edge.ops) for edge in wires.edges] == [
                (edge.target, edge.ops) for edge in cell.edges
            ]
            assert [(edge.source, edge.target) for edge in ops.edges] == [
                (edge.source, edge.target) for edge in cell.edges
            ]
            assert wires.output == ops.output == cell.output
            assert all(edge.source < edge.target for edge in wires.edges)


def test_variants_are_those_of_the_authors_file() -> None:
    path = Path(os.environ.get("DARTBOARD_DATA", "")) / "understanding-variants.json"
    if not path.is_file():
        pytest.skip("no understanding-variants.json in $DARTBOARD_DATA")
    known = json.loads(path.read_text())
    for name in BASES:
        for key, cells in known[name]["variants"].items():
            texts = [
                f"{group}={[tuple(pair) for pair in cells[group]]}, "
                f"{group}_concat={known[name][f'{group}_concat']}"
                for group in ("normal", "reduce")
            ]
            variant = operation_variant if key.startswith("ops") else connection_variant
            number = int(key.removeprefix("ops").removeprefix("conn"))
            assert variant(name, number) == from_darts(f"Genotype({', '.join(texts)})"), (name, key)


def test_a_ladder_has_each_shape_once_from_wide_to_narrow() -> None:
    for name in BASES:
        shapes = [shape(variant) for variant in ladder(name)]
        drawn = {shape(connection_variant(name, number)) for number in range(1, COUNT + 1)}
        assert set(shapes) == drawn - {shape(popular(name))}
        assert shapes == sorted(set(shapes), key=lambda own: (-own[0], own[1]))
    cells = darts_family()
    assert [shape(cell) for cell in cells.values()] == [(3.5, 3), (3.0, 3), (2.5, 3), (2.5, 4), (2.0, 5)]
    assert list(cells) == ["darts", "c1", "c2", "c3", "c4"]
