import math
from collections import Counter
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
import torch
from scipy.stats import chisquare

from dartboard.errors import CompositionError, OptionError
from dartboard.nn import Blend
from dartboard.relax.base import Strength
from dartboard.search.select import BestOfSamples, CellByCell, DrawOne, Evolve, FromStrengths, strongest
from dartboard.space import (
    Cell,
    Contest,
    Edge,
    Genotype,
    Stack,
    draw_connected,
    enumerate_genotypes,
    get_space,
    is_connected,
    restrict,
    sample,
)
from dartboard.space.catalog import stacked
from dartboard.space.genotype import decisions
from dartboard.space.graph import count
from helpers import networks
from helpers.search_cases import batch, differences, random_objective, snapshot


def nothing():
    raise AssertionError("nobody should look at images")


def strengths_of(space, seed=0):
    """Random strengths of ops, equal ones of edges."""
    generator = torch.Generator().manual_seed(seed)
    return {
        arch: Strength(torch.rand(cell.shape, generator=generator), torch.ones(len(cell.edges)))
        for arch, cell in space.groups
    }


def kept(genotype, arch):
    return {(edge.source, edge.target, edge.ops[0]) for edge in genotype.cells[arch].edges}


# DARTS' rule


def darts_parse(weights, ops):
    """The rule as DARTS' own code has it: `parse` in its network, with tables of plain numbers."""
    gene, width, start = set(), 2, 0
    none = ops.index("none")
    for node in range(4):
        rows = weights[start : start + width]
        ranked = sorted(
            range(node + 2), key=lambda x: -max(rows[x][k] for k in range(len(rows[x])) if k != none)
        )
        for source in ranked[:2]:
            best = None
            for k in range(len(rows[source])):
                if k != none and (best is None or rows[source][k] > rows[source][best]):
                    best = k
            gene.add((source, node + 2, ops[best]))
        start, width = start + width, width + 1
    return gene


@pytest.mark.parametrize("seed", range(5))
def test_darts_keeps_two_edges_a_node_and_their_best_ops(seed):
    space = get_space("darts")
    found = strengths_of(space, seed)
    for own in found.values():
        own.ops[:, 0] += 0.5  # none is mostly the strongest, and never counts
    genotype = strongest(space, found)
    restrict(space, genotype)
    for arch, cell in space.groups:
        assert kept(genotype, arch) == darts_parse(found[arch].ops.tolist(), cell.edges[0].ops)


def test_among_equals_the_first_wins():
    space = get_space("darts")
    equal = {arch: Strength(torch.ones(cell.shape), torch.ones(14)) for arch, cell in space.groups}
    genotype = strongest(space, equal)
    expected = {(source, target, "max_pool_3x3") for target in range(2, 6) for source in (0, 1)}
    assert kept(genotype, "normal") == expected


def test_an_edge_of_its_own_keeps_none_where_that_is_strongest():
    space = get_space("nb201")
    ops = torch.zeros(6, 5)
    ops[:, 0] = torch.tensor([0.9, 0.1, 0.9, 0.1, 0.9, 0.1])
    ops[:, 3] = 0.5
    genotype = strongest(space, {"cell": Strength(ops, torch.ones(6))})
    assert [edge.ops[0] for edge in genotype.cells["cell"].edges] == ["none", "nor_conv_3x3"] * 3


def test_weights_of_edges_count_beside_those_of_ops():
    """Three edges into one node, two kept: products 0.6, 0.2 and 0.3, though the second has the best op."""
    edges = tuple(Edge(source, 3, ("none", "skip_connect", "nor_conv_1x1")) for source in range(3))
    chain = (Edge(0, 1, ("skip_connect",)), Edge(1, 2, ("skip_connect",)))
    cell = Cell(1, 4, (*chain, *edges), (3,), contests=(Contest((2, 3, 4), 2),))
    ops = torch.tensor([[1.0, 0, 0], [1.0, 0, 0], [0.2, 0.6, 0.2], [0, 0.1, 0.9], [0.5, 0.2, 0.3]])
    weights = torch.tensor([1.0, 1.0, 1.0, 0.2 / 0.9, 1.0])
    space = stacked("three", cell, Stack(cells=1, reduce="pool", stages=1))
    for edge_weights, expected in ((weights, {0, 2}), (torch.ones(5), {0, 1})):
        genotype = strongest(space, {"cell": Strength(ops, edge_weights)})
        assert {source for source, target, _ in kept(genotype, "cell") if target == 3} == expected


@pytest.mark.parametrize("seed", range(3))
def test_weighted_contests_are_decided_by_the_edges_weights(seed):
    space = get_space("oneshot1")
    cell = space.cells["cell"]
    found = strengths_of(space, seed)["cell"]
    for index, edge in enumerate(cell.edges):
        if len(edge.ops) == 1:
            found.ops[index] = torch.tensor([1.0, 0.0, 0.0])
    weights = torch.rand(len(cell.edges), generator=torch.Generator().manual_seed(seed))
    genotype = strongest(space, {"cell": Strength(found.ops, weights)})
    taken = decisions(space, genotype)["cell"]
    for contest in cell.contests:
        best = sorted(contest.edges, key=lambda index: -weights[index])[: contest.keep]
        assert taken.keys() & set(contest.edges) == set(best)
    for index, edge in enumerate(cell.edges):
        if len(edge.ops) > 1:
            assert taken[index] == edge.ops[int(found.ops[index].argmax())]


def test_edges_that_can_only_be_none_win_no_place():
    edges = (Edge(0, 1, ("none",)), Edge(0, 1, ("skip_connect",)), Edge(0, 1, ("nor_conv_1x1",)))
    cell = Cell(1, 2, edges, (1,), contests=(Contest((0, 1, 2), 2),))
    space = stacked("absent", cell, Stack(cells=1, reduce="pool", stages=1))
    genotype = strongest(space, {"cell": Strength(torch.tensor([[9.0], [1.0], [1.0]]), torch.ones(3))})
    assert {op for _, _, op in kept(genotype, "cell")} == {"skip_connect", "nor_conv_1x1"}


def test_the_selector_reads_the_relaxation():
    objective = random_objective("darts", relax="softmax")
    genotype = FromStrengths()(objective, nothing, Random(0))
    assert genotype == strongest(objective.net.space, objective.relaxation.strengths())


# Dead cells


def whole_strength(cell, strength, genotype):
    """The product of the strengths of all ops that a genotype has."""
    chosen = genotype.cells["cell"].edges
    places = [edge.ops.index(other.ops[0]) for edge, other in zip(cell.edges, chosen, strict=True)]
    return math.prod(float(row[place]) for row, place in zip(strength.ops, places, strict=True))


@pytest.mark.parametrize("name", ["nano", "nb201"])
@pytest.mark.parametrize("seed", range(4))
def test_of_all_cells_that_lead_somewhere_the_strongest_is_taken(name, seed):
    """Where `none` leads everywhere; the best of all cells by brute force, if exactly one path is open."""
    space = get_space(name)
    cell, found = space.cells["cell"], strengths_of(space, seed)["cell"]
    found.ops[:, 0] = 2.0
    genotype = strongest(space, {"cell": found})
    assert is_connected(genotype.cells["cell"])
    connected = (other for other in enumerate_genotypes(space) if is_connected(other.cells["cell"]))
    best = max(whole_strength(cell, found, other) for other in connected)
    assert whole_strength(cell, found, genotype) == pytest.approx(best)


def test_where_the_strongest_cell_leads_somewhere_it_is_taken_as_it_is():
    space = get_space("nano")
    for seed in range(50):
        found = strengths_of(space, seed)
        plain = [edge.ops[int(row.argmax())] for edge, row in zip(NANO.edges, found["cell"].ops, strict=True)]
        alive = plain[1] != "none" or "none" not in (plain[0], plain[2])
        chosen = [edge.ops[0] for edge in strongest(space, found).cells["cell"].edges]
        assert (chosen == plain) == alive


def test_strengths_of_zero_are_no_obstacle():
    space = get_space("nano")
    ops = torch.zeros(NANO.shape)
    ops[:, 0] = 1.0
    assert is_connected(strongest(space, {"cell": Strength(ops, torch.ones(3))}).cells["cell"])


# Cell by cell


def unshared(cell: Cell, *, shared: bool = False):
    """Three cells in a row, each with decisions of its own."""
    stack = Stack(cells=3, reduce="pool", stages=1, shared=shared, stem=1, pool_norm=False)
    return stacked("row", cell, stack)


NANO = get_space("nano").cells["cell"]
CONTESTED = Cell(
    1,
    4,
    (
        Edge(0, 1, ("none", "skip_connect", "nor_conv_1x1")),
        Edge(0, 2, ("nor_conv_1x1", "avg_pool_3x3")),
        Edge(1, 2, ("skip_connect", "avg_pool_3x3")),
        Edge(0, 3, ("skip_connect", "nor_conv_3x3")),
        Edge(1, 3, ("skip_connect", "nor_conv_1x1")),
        Edge(2, 3, ("none", "avg_pool_3x3", "nor_conv_1x1")),
    ),
    (3,),
    contests=(Contest((3, 4, 5), keep=2),),
    adapt=False,
)


def attentive(space, seed=0):
    """A problem whose attention differs a lot from edge to edge."""
    objective = random_objective(space, "attention", seed=seed)
    with torch.no_grad():
        for values in objective.relaxation.weight_parameters():
            values.mul_(4.0)
    return objective


def images():
    return [batch(0, 3), batch(1, 2)]


@torch.no_grad()
def mean_attention(net, relaxation, mixture):
    """Mean attention over all examples, in evaluation mode."""
    net.eval()
    with relaxation.collecting():
        for x, _ in images():
            net(x, mixture())
    return {arch: strength.ops for arch, strength in relaxation.strengths().items()}


def by_keeping(objective) -> Genotype:
    """Algorithm 1 by removing candidates from a copy, one cell after another."""
    net, relaxation = deepcopy((objective.net, objective.relaxation))
    chosen = {}
    for arch, cell in net.space.groups:
        found = mean_attention(net, relaxation, relaxation)[arch]
        places = [int(row[: len(edge.ops)].argmax()) for row, edge in zip(found, cell.edges, strict=True)]
        for edge, place in enumerate(places):
            networks.keep_one(relaxation, arch, edge, place)
        ops = [replace(edge, ops=(edge.ops[place],)) for edge, place in zip(cell.edges, places, strict=True)]
        chosen[arch] = replace(cell, edges=tuple(ops))
    return Genotype(tuple(chosen.items()))


SPACES = {"row": unshared(NANO), "asm": networks.shrink(get_space("asm"), cells=2)}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_cells_are_decided_front_to_back_behind_discrete_ones(space):
    objective = attentive(space, seed=1)
    found = CellByCell()(objective, images, Random(0))
    assert found == by_keeping(objective)
    restrict(space, found)


def test_the_order_matters():
    """Some later cell is decided otherwise than if all were decided at once."""
    different = 0
    for seed in range(3):
        objective = attentive(SPACES["row"], seed)
        net, relaxation = deepcopy((objective.net, objective.relaxation))
        mean_attention(net, relaxation, relaxation)
        at_once = strongest(net.space, relaxation.strengths()).cells
        found = CellByCell()(objective, images, Random(0)).cells
        assert found["cell00"] == at_once["cell00"]
        different += found != at_once
    assert different


class Decided:
    """A mixture in which some groups are one-hot, written out by hand."""

    def __init__(self, objective, relaxation, taken):
        self.groups = [slot.group for slot in objective.net.space.slots]
        self.cells, self.rest, self.taken = objective.net.space.cells, relaxation(), taken

    def blend(self, slot):
        arch = self.groups[slot]
        if arch not in self.taken:
            return self.rest.blend(slot)
        cell, taken = self.cells[arch], self.taken[arch]
        live = [(edge.ops.index(taken[i]),) if i in taken else () for i, edge in enumerate(cell.edges)]
        return Blend(tuple(live), torch.ones(cell.shape, dtype=torch.float64))


@pytest.mark.parametrize("shared", [False, True], ids=["unshared", "shared"])
def test_contests_are_decided_on_the_way(shared):
    space = unshared(CONTESTED, shared=shared)
    objective = attentive(space)
    net, relaxation = deepcopy((objective.net, objective.relaxation))
    taken = {}
    for arch, _ in space.groups:
        found = mean_attention(net, relaxation, lambda: Decided(objective, relaxation, taken))[arch]
        mine = strongest(space, {own: Strength(found, torch.ones(6)) for own, _ in space.groups})
        taken[arch] = decisions(space, mine)[arch]
        assert len(taken[arch].keys() & {3, 4, 5}) == 2
    assert decisions(space, CellByCell()(objective, images, Random(0))) == taken


def test_selecting_cell_by_cell_leaves_no_trace():
    objective = attentive(SPACES["row"])
    objective.loss(batch(3))  # in training, so that the running means are not those of the start
    before = snapshot(objective)
    CellByCell()(objective, images, Random(0))
    assert differences(snapshot(objective), before) == []


def test_cell_by_cell_needs_attention():
    with pytest.raises(CompositionError, match="cell by cell needs attention, not Categorical"):
        CellByCell()(random_objective(), images, Random(0))


# Samples


@torch.no_grad()
def score_alone(objective, genotype) -> float:
    """Right answers of the supernet that runs one architecture."""
    cell, taken = objective.net.space.cells["cell"], decisions(objective.net.space, genotype)["cell"]
    live = tuple((edge.ops.index(taken[i]),) for i, edge in enumerate(cell.edges))

    class Alone:
        def blend(self, _slot):
            return Blend(live)

    net = deepcopy(objective.net).eval()
    return sum(int((net(x, Alone()).argmax(1) == y).sum()) for x, y in images()) / 5


@pytest.mark.parametrize("seed", range(3))
def test_the_best_sample_is_kept(seed):
    objective = random_objective(seed=seed)
    rng = Random(seed)
    drawn = [draw_connected(lambda: sample(objective.net.space, rng)) for _ in range(12)]
    scores = [score_alone(objective, genotype) for genotype in drawn]
    assert len(set(scores)) > 1
    assert BestOfSamples(12)(objective, images, Random(seed)) == drawn[scores.index(max(scores))]


@pytest.mark.parametrize("samples", [0, -1])
def test_the_best_of_none_is_refused(samples):
    with pytest.raises(OptionError, match=f"needs at least 1 sample, got {samples}"):
        BestOfSamples(samples)


def test_measuring_samples_leaves_no_trace():
    objective = random_objective(relax="random", drop_path=0.2)
    before, chance = snapshot(objective), torch.get_rng_state()
    BestOfSamples(3)(objective, images, Random(0))
    assert differences(snapshot(objective), before) == []
    assert torch.equal(torch.get_rng_state(), chance)


def test_one_is_drawn_with_equal_chances_of_those_that_lead_somewhere():
    objective, rng = random_objective(relax="random"), Random(0)
    counts = Counter(DrawOne()(objective, nothing, rng) for _ in range(20 * 205))
    everything = enumerate_genotypes(objective.net.space)
    known = [genotype for genotype in everything if is_connected(genotype.cells["cell"])]
    assert len(known) == 205  # 11 of 216 are dead
    assert set(counts) <= set(known)
    assert chisquare([counts[genotype] for genotype in known]).pvalue > 0.01


# Evolution


class Scores:
    """Scores architectures in a way that is told, and remembers them in order."""

    def __init__(self, rule):
        self.rule, self.seen = rule, []

    def __call__(self, genotype):
        self.seen.append(genotype)
        return self.rule(len(self.seen), genotype)


def differ(space, one, other) -> int:
    taken, left = decisions(space, one), decisions(space, other)
    return sum(taken["cell"].get(edge) != left["cell"].get(edge) for edge in range(6))


@pytest.mark.parametrize("population", [1, 2, 5])
def test_the_oldest_leaves(population):
    """Where older ones are better and all compete, the parent is always the oldest that still lives."""
    space, scores = get_space("nb201"), Scores(lambda born, _: -born)
    Evolve(scores, population, population, cycles=20).history(space, Random(0))
    assert len(scores.seen) == 20
    for parent, child in zip(scores.seen, scores.seen[population:], strict=False):
        assert differ(space, parent, child) == 1


def test_the_best_of_the_tournament_has_a_child():
    """Where younger ones are better and all compete, the parent is always the youngest."""
    space, scores = get_space("nb201"), Scores(lambda born, _: born)
    Evolve(scores, 5, 5, cycles=20).history(space, Random(0))
    for parent, child in pairwise(scores.seen[4:]):
        assert differ(space, parent, child) == 1


def test_a_small_tournament_leaves_others_a_chance():
    space, scores = get_space("nb201"), Scores(lambda born, _: born)
    Evolve(scores, 5, 1, cycles=40).history(space, Random(0))
    assert any(differ(space, parent, child) > 1 for parent, child in pairwise(scores.seen[4:]))


def test_the_history_is_the_best_so_far():
    space = get_space("nano")
    assert count(space) == 216
    scores = Scores(
        lambda _, genotype: sum(edge.ops[0] == "sep_conv_3x3" for edge in genotype.cells["cell"].edges)
    )
    history = Evolve(scores, 5, 3, cycles=40).history(space, Random(1))
    known = [scores.rule(0, genotype) for genotype in scores.seen]
    assert [score for score, _ in history] == [max(known[: n + 1]) for n in range(40)]
    assert all(scores.rule(0, genotype) == score for score, genotype in history)


def likeness(target):
    return lambda genotype: -differ(get_space("nb201"), target, genotype)


def test_evolution_finds_more_than_chance_and_the_same_for_the_same_chance():
    space = get_space("nb201")
    score = likeness(sample(space, Random(99)))
    evolve = Evolve(score, population=10, tournament=5, cycles=60)
    found, drawn = 0, 0
    for seed in range(8):
        found += evolve.history(space, Random(seed))[-1][0]
        rng = Random(seed)
        drawn += max(score(sample(space, rng)) for _ in range(60))
    assert found > drawn + 4
    assert evolve.history(space, Random(3)) == evolve.history(space, Random(3))
    assert evolve.history(space, Random(3)) != evolve.history(space, Random(4))


def test_the_selector_returns_the_best_it_has_seen():
    objective = random_objective(relax="random")
    scores = Scores(
        lambda _, genotype: sum(edge.ops[0] == "nor_conv_1x1" for edge in genotype.cells["cell"].edges)
    )
    found = Evolve(scores, 5, 3, 30)(objective, nothing, Random(0))
    assert scores.rule(0, found) == max(scores.rule(0, genotype) for genotype in scores.seen)


def test_evolution_meets_no_dead_cells():
    space, scores = (
        get_space("nano"),
        Scores(lambda _, genotype: -len(genotype.cells["cell"].edges[1].ops[0])),
    )
    Evolve(scores, 5, 3, cycles=200).history(space, Random(0))
    assert all(is_connected(genotype.cells["cell"]) for genotype in scores.seen)


@pytest.mark.parametrize("numbers", [(5, 6, 10), (5, 0, 10), (20, 5, 10)])
def test_numbers_that_make_no_sense_are_refused(numbers):
    with pytest.raises(CompositionError, match="1 <= tournament <= population <= cycles"):
        Evolve(lambda _: 0.0, *numbers)
