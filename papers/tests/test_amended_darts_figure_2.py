import pytest

from dartboard_papers import REPRODUCTIONS, RunOptions
from dartboard_papers._amended import AVERAGE, CONVOLUTION, KINDS, MAXIMUM, SKIP
from dartboard_papers.amended_darts_figure_2 import (
    ETAS,
    FULL,
    LATE,
    READING,
    LongSearches,
    judge_each,
    plan,
    reproduce,
)
from reproducing import OTHER_NUMBERS

TINY = LongSearches(nodes=1, epochs=1, batch=300, seeds=1)


def seeds(skip, average, convolution):
    """Five searches that end with those percentages on average."""
    rest = 100 - skip - average - convolution
    mean = {SKIP: skip, AVERAGE: average, CONVOLUTION: convolution, MAXIMUM: rest}
    return [{kind: share + place for kind, share in mean.items()} for place in (-2, -1, 0, 1, 2)]


AS_SAID = {0.0: seeds(60, 10, 10), 0.1: seeds(25, 15, 50), 1.0: seeds(10, 50, 40)}
POOLING = {"avg_pool_3x3"}


def test_what_the_paper_says_is_seen_where_it_is():
    parts = judge_each(AS_SAID, POOLING)
    assert all(part.held for part in parts.values())
    assert list(parts) == list(REPRODUCTIONS["amended-darts-figure-2"].rules)


@pytest.mark.parametrize(
    ("eta", "own", "most"),
    [
        (0.0, seeds(40, 10, 10), POOLING),  # less than half
        (0.1, seeds(10, 15, 20), POOLING),  # few convolutions
        (0.1, seeds(10, 15, 10), POOLING),  # no more than at 0
        (0.1, seeds(10, 49, 40), {"skip_connect"}),  # average pooling is as frequent as at 1
        (1.0, seeds(10, 50, 40), {"skip_connect"}),
        (1.0, seeds(10, 50, 40), POOLING | {"skip_connect"}),
    ],
)
def test_and_not_where_it_is_not(eta, own, most):
    parts = judge_each(AS_SAID | {eta: own}, most)
    failed = [key for key, part in zip(ETAS, parts.values(), strict=True) if not part.held]
    assert failed == ([1.0] if most != POOLING else [eta])


def test_the_searches_are_the_papers_but_for_their_size(tmp_path):
    configs = plan(RunOptions(tmp_path), TINY.model_copy(update={"seeds": 2}))
    assert len(configs) == 6
    for (eta, seed), config in configs.items():
        assert config.method.options["eta"] == eta
        assert config.seed == seed
        assert config.method.options["lr"] == pytest.approx(TINY.travel / 2)
    assert (FULL.epochs, FULL.channels, FULL.cells, FULL.batch) == (500, 16, 8, 96)
    assert (FULL.images, FULL.pad, FULL.flip) == ("cifar10", 4, True)
    assert 3e-4 * FULL.epochs * (25_000 // FULL.batch) == pytest.approx(FULL.travel, rel=0.01)


def test_found_cells_are_counted_over_epochs(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY)
    for eta in ETAS:
        own = result.numbers[f"{eta:g}"]
        assert own["course"][-1] == own["ends"]
        assert sum(own["ends"].values()) == pytest.approx(100)
        assert own["each seed"] == [own["ends"]]
    assert len(result.figures["cells"].axes) == 2 * len(ETAS)
    here = {row.what: row.here for row in result.rows}
    assert {f"eta = 1: {kind}, % of edges" for kind in KINDS} <= set(here)
    assert {READING, LATE} < set(result.remarks)
    assert here["eta = 0, seed 0, normal cell"].startswith("2: ")


@pytest.mark.parametrize(("key", "value"), (OTHER_NUMBERS | {"nodes": 2, "cells": 3}).items())
def test_every_number_changes_the_searches(tmp_path, key, value):
    usual, other = (plan(RunOptions(tmp_path), TINY.model_copy(update=own)) for own in ({}, {key: value}))
    assert usual != other
