import pytest
import torch

from dartboard.arch.objective import Objective
from dartboard.nn import one_hot
from dartboard.relax import RELAXATIONS
from dartboard.search.select import strongest
from dartboard.search.stability import EdgeDecided, decide, stability
from dartboard.space import get_space
from dartboard.space.genotype import decisions
from helpers import networks

PAIRS = [("softmax", "nano"), ("softmax", "darts"), ("simplex", "oneshot1"), ("attention", "s2")]
each_pair = pytest.mark.parametrize(("name", "space"), PAIRS, ids=map("-".join, PAIRS))


def make_objective(name, space):
    space = networks.shrink(get_space(space), cells=2)
    relaxation = RELAXATIONS[name](space, torch.Generator().manual_seed(0)).double()
    torch.manual_seed(1)
    for values in relaxation.parameters():
        values.data += torch.randn_like(values) if name == "softmax" else 0.0
    return Objective(networks.build(space).eval(), relaxation.eval())


def batches(seed=0, count=3):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 20, 3, 8, 8, generator=generator, dtype=torch.float64)
    return [(images, torch.randint(5, (20,), generator=generator)) for images in x]


class AllDecided:
    """Every edge decided, one after the other."""

    def __init__(self, objective, genotype):
        self.objective, self.mixture = objective, objective.relaxation()
        self.taken = decisions(objective.net.space, genotype)

    def blend(self, slot):
        space = self.objective.net.space
        arch, blend = space.slots[slot].group, self.mixture.blend(slot)
        for index, edge in enumerate(space.cells[arch].edges):
            op = self.taken[arch].get(index)
            blend = decide(blend, index, None if op is None else edge.ops.index(op))
        return blend


@each_pair
@torch.no_grad()
def test_with_every_edge_decided_the_supernet_is_the_chosen_network(name, space):
    objective, x = make_objective(name, space), batches()[0][0]
    genotype = strongest(objective.net.space, objective.relaxation.strengths())
    expected = objective.net(x, one_hot(objective.net.space, genotype, like=x))
    torch.testing.assert_close(
        objective.net(x, AllDecided(objective, genotype)), expected, rtol=0, atol=1e-12
    )
    assert not torch.allclose(objective.net(x, objective.relaxation()), expected)


@torch.no_grad()
def test_one_edge_decided_leaves_the_others_mixed():
    objective = make_objective("softmax", "nano")
    (arch,) = objective.net.space.cells
    before = objective.relaxation().blend(0)
    after = EdgeDecided(objective, arch, 1, 3).blend(0)
    assert after.live == (before.live[0], (3,), before.live[2])
    assert after.ops[1].tolist() == [0, 0, 0, 1, 0, 0]
    assert torch.equal(after.ops[[0, 2]], before.ops[[0, 2]])


@pytest.mark.parametrize(("name", "space"), [("softmax", "nano"), ("attention", "s2")])
def test_stability_is_the_change_of_accuracy_edge_by_edge(name, space):
    objective, images = make_objective(name, space), batches()
    genotype = strongest(objective.net.space, objective.relaxation.strengths())
    found = stability(objective, genotype, lambda: images)
    assert len(found) == sum(len(cell.edges) for cell in objective.net.space.cells.values())
    mixed = right(objective, objective.relaxation, images)
    for own in found:
        edge = objective.net.space.cells[own.group].edges[own.edge]
        place = None if own.op is None else edge.ops.index(own.op)
        expected = right(
            objective, lambda own=own, place=place: EdgeDecided(objective, own.group, own.edge, place), images
        )
        assert own.accuracy == pytest.approx(expected)
        assert own.change == pytest.approx(expected - mixed)
    assert any(own.change for own in found)


@torch.no_grad()
def right(objective, mixture, images):
    said = torch.cat([objective.net(x, mixture()).argmax(1) == y for x, y in images])
    return said.double().mean().item()
