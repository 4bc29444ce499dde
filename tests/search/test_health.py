from dataclasses import replace
from math import log

import pytest
import torch

from dartboard.relax import softmax
from dartboard.relax.base import Strength
from dartboard.search.health import (
    CellHealth,
    accuracy,
    cell_health,
    entropies,
    mean_entropy,
    measure,
    warnings,
)
from dartboard.search.select import strongest
from dartboard.space import Cell, Edge, get_space
from helpers.search_cases import batch, differences, random_objective, snapshot

CELL = Cell(
    1,
    3,
    (
        Edge(0, 1, ("none", "skip_connect", "nor_conv_1x1")),
        Edge(0, 2, ("nor_conv_1x1",)),
        Edge(1, 2, ("skip_connect", "nor_conv_3x3")),
    ),
    (2,),
)
OPS = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0]], dtype=torch.float64)
STRENGTH = Strength(OPS, torch.ones(3))


def chosen(*ops: str) -> Cell:
    edges = tuple(replace(edge, ops=(op,)) for edge, op in zip(CELL.edges, ops, strict=True))
    return replace(CELL, edges=edges)


def test_entropy_in_nats_with_zeros_that_count_for_nothing():
    rows = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert entropies(rows).tolist() == pytest.approx([log(2), 0.0, log(3)])


def test_the_numbers_of_a_cell_by_hand():
    """Only the first and the last edge have a choice."""
    found = cell_health(CELL, chosen("none", "nor_conv_1x1", "skip_connect"), STRENGTH)
    first = 0.5 * log(2) + 2 * 0.25 * log(4)
    last = -0.9 * log(0.9) - 0.1 * log(0.1)
    assert found.entropy == pytest.approx((first + last) / 2)
    assert found.largest_entropy == pytest.approx((log(3) + log(2)) / 2)
    assert found.margin == pytest.approx((0.25 + 0.8) / 2)
    assert found.alive == 5
    assert found.skips == 1
    assert found.edges == 2
    assert found.ops == {"none": 1, "nor_conv_1x1": 1, "skip_connect": 1}
    assert not found.dead_end


def test_what_was_removed_is_not_alive():
    ops = OPS.clone()
    ops[0] = torch.tensor([0.0, 1.0, 0.0])
    found = cell_health(
        CELL, chosen("skip_connect", "nor_conv_1x1", "nor_conv_3x3"), Strength(ops, torch.ones(3))
    )
    assert found.alive == 3


def test_a_dead_end_is_seen():
    cell = replace(CELL, edges=(CELL.edges[0], CELL.edges[2]))
    picked = replace(cell, edges=(Edge(0, 1, ("none",)), Edge(1, 2, ("skip_connect",))))
    found = cell_health(cell, picked, Strength(OPS[[0, 2]], torch.ones(2)))
    assert found.dead_end


def test_a_cell_without_a_choice_has_no_entropy():
    fixed = chosen("skip_connect", "nor_conv_1x1", "skip_connect")
    found = cell_health(fixed, fixed, Strength(torch.ones(3, 1), torch.ones(3)))
    assert (found.entropy, found.largest_entropy, found.margin, found.alive) == (0, 0, 0, 0)


def test_each_arch_is_measured_and_the_mean_is_over_archs():
    space = get_space("darts")
    relaxation = softmax(space)
    relaxation.cells["reduce"].ops.data[:, 3] = 100.0
    strengths = relaxation.strengths()
    found = measure(space, strongest(space, strengths), strengths)
    assert found["normal"].entropy == pytest.approx(log(8))
    assert found["reduce"].entropy == pytest.approx(0, abs=1e-6)
    assert mean_entropy(found) == pytest.approx(log(8) / 2)
    assert found["reduce"].margin == pytest.approx(1)
    assert found["normal"].alive == 14 * 8
    assert found["reduce"].skips == found["reduce"].edges == 8


FINE = CellHealth(
    entropy=0.5,
    largest_entropy=2.0,
    margin=0.5,
    alive=20,
    skips=2,
    edges=8,
    ops={"skip_connect": 2, "sep_conv_3x3": 6},
    dead_end=False,
)


def said(health, **more) -> list[str]:
    given = {"done": True} | more
    return list(warnings(health, **given))


def test_nothing_is_said_of_a_search_that_is_fine():
    assert said({"normal": FINE, "reduce": FINE}, accuracy=0.9, discrete=0.7) == []


def test_skip_connections_are_counted_in_words():
    (line,) = said({"normal": replace(FINE, skips=7), "reduce": FINE}, done=False)
    assert line == (
        "7 of 8 edges of the normal cell are skip_connect: the search is collapsing; take the genotype of an "
        "earlier epoch, or try gaea-darts-erm, amended-darts or fewer epochs"
    )


@pytest.mark.parametrize(
    ("skips", "edges", "warned"), [(6, 8, True), (5, 8, False), (1, 1, False), (2, 2, True)]
)
def test_from_three_quarters_on_a_cell_is_collapsing(skips, edges, warned):
    assert bool(said({"normal": replace(FINE, skips=skips, edges=edges)})) == warned


def test_cells_of_their_own_are_called_by_their_name():
    (line,) = said({"cell03": replace(FINE, skips=8)})
    assert line.startswith("8 of 8 edges of the cell03 are skip_connect")
    (line,) = said({"cell": replace(FINE, skips=8)})
    assert line.startswith("8 of 8 edges of the cell are skip_connect")


def test_a_dead_end_is_told():
    assert said({"normal": replace(FINE, dead_end=True)}, done=False) == [
        "nothing leads from the inputs to the output of the normal cell: leave 'none' out of the space"
    ]


def test_a_fall_when_the_cell_is_made_discrete_is_told_at_the_end():
    numbers = {"accuracy": 0.7517, "discrete": 0.1527}
    (line,) = said({"normal": FINE}, **numbers)
    assert line == (
        "accuracy falls from 75.2% to 15.3% when the cell is made discrete: the supernet relies on blends; "
        "train the found network before you judge it"
    )
    assert said({"normal": FINE}, done=False, **numbers) == []
    assert said({"normal": FINE}, accuracy=0.75, discrete=0.5) == []
    assert said({"normal": FINE}, accuracy=0.75) == []


def test_strengths_that_stayed_equal_are_told_at_the_end_of_what_learns():
    undecided = replace(FINE, entropy=1.99)
    (line,) = said({"normal": undecided, "reduce": undecided})
    assert line == (
        "the strengths have hardly moved from equal ones: the choice is close to chance; search longer, or "
        "with a larger method.lr"
    )
    assert said({"normal": undecided}, done=False) == []
    assert said({"normal": undecided}, learns=False) == []
    assert said({"normal": undecided, "reduce": FINE}) == []


RELAXATIONS = ["softmax", "gumbel-softmax", "attention", "random"]


def test_the_share_that_is_right_over_all_images_in_evaluation_mode():
    objective = random_objective()
    given = [batch(0, 7), batch(1, 2), batch(2, 4)]
    found = accuracy(objective, objective.relaxation, given)
    objective.net.eval()
    right = [
        int(objective.net(x[None], objective.relaxation()).argmax() == y)
        for xs, ys in given
        for x, y in zip(xs, ys, strict=True)
    ]
    assert 0 < sum(right) < 13
    assert found == sum(right) / 13


@pytest.mark.parametrize("relax", RELAXATIONS)
@pytest.mark.parametrize("training", [True, False])
def test_no_trace_is_left(relax, training):
    objective = random_objective(relax=relax, drop_path=0.3)
    objective.loss(batch(2))
    objective.net.train(training)
    objective.relaxation.train(not training)
    before, chance = snapshot(objective), torch.get_rng_state()
    found = {accuracy(objective, objective.relaxation, [batch(0, 8), batch(1, 8)]) for _ in range(2)}
    assert len(found) == 1
    assert differences(snapshot(objective), before) == []
    assert torch.equal(torch.get_rng_state(), chance)


def test_no_trace_is_left_by_an_error():
    objective = random_objective(relax="gumbel-softmax")
    before = snapshot(objective)

    def broken():
        objective.relaxation()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        accuracy(objective, broken, [batch(0)])
    assert differences(snapshot(objective), before) == []


def test_every_batch_has_a_mixture_of_its_own():
    objective, made = random_objective(), []
    accuracy(objective, lambda: made.append(1) or objective.relaxation(), [batch(0), batch(1), batch(2)])
    assert len(made) == 3
