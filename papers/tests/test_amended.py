"""What the reproductions with DARTS' cells share."""

import pytest

from dartboard.space import Genotype, get_space, load_space
from dartboard.space.spec import Cell, Edge
from dartboard_papers import RunOptions
from dartboard_papers._amended import (
    AVERAGE,
    CONVOLUTION,
    MAXIMUM,
    SKIP,
    Images,
    count_kinds,
    count_steps,
    in_words,
    keep_space,
    shares,
    small_darts,
    small_s2,
    with_travel,
)
from dartboard_papers._searches import configure

GENOTYPE = Genotype(
    (
        (
            "cell",
            Cell(
                2,
                4,
                (
                    Edge(0, 2, ("skip_connect",)),
                    Edge(1, 2, ("dil_conv_5x5",)),
                    Edge(1, 3, ("none",)),
                    Edge(2, 3, ("sep_conv_3x3",)),
                ),
                (2, 3),
            ),
        ),
    )
)


def test_the_small_spaces_are_the_papers_at_the_papers_size():
    ours, theirs = small_darts(4, 8), get_space("darts")
    assert (ours.groups, ours.stack) == (theirs.groups, theirs.stack)
    ours, theirs = small_s2(20), get_space("s2")
    assert (ours.groups, ours.stack) == (theirs.groups, theirs.stack)


def test_cells_of_s2_share_nothing():
    assert len(small_s2(4).groups) == 4


def test_two_cells_are_a_normal_one_and_a_reduction():
    assert [slot.group for slot in small_darts(2, 2).slots] == ["normal", "reduce"]


def test_a_kept_space_is_read_back(tmp_path):
    space = small_darts(2, 2)
    assert load_space(keep_space(space, tmp_path / "new")) == space


def test_rate_times_steps_is_the_travel():
    base = {"data": "digits", "batch": 100, "epochs": 4, "method": {"name": "pc-darts", "warmup": 1}}
    config = configure({"space": {"name": "darts", "cells": 3}}, base)
    assert count_steps(config) == 3 * 7  # half of 1,500 images, in batches of 100, less the epoch of rest
    moved = with_travel(config, 4.2)
    assert moved.method.options == {"warmup": 1, "lr": pytest.approx(0.2)}
    assert moved.data == config.data


def test_kinds_are_counted_without_edges_that_are_not_there():
    counts = count_kinds([GENOTYPE, GENOTYPE])
    assert counts == {SKIP: 2, MAXIMUM: 0, AVERAGE: 0, CONVOLUTION: 4}
    assert shares(counts)[CONVOLUTION] == pytest.approx(200 / 3)


def test_a_cell_in_words():
    words = "2: skip_connect(0) dil_conv_5x5(1); 3: none(1) sep_conv_3x3(2)"
    assert in_words(GENOTYPE.cells["cell"]) == words


def test_images_are_those_of_the_scale_unless_others_are_given(tmp_path):
    scale = Images(images="cifar10", pad=4, flip=True)
    assert scale.data(RunOptions(tmp_path)) == {"name": "cifar10", "pad": 4, "flip": True}
    assert scale.chosen(RunOptions(tmp_path, data="mine.npz")) == "mine.npz"
