"""What every architecture gradient must show; a new gradient or relaxation is tested by being registered."""

from itertools import product

import pytest
import torch
from torch.optim import SGD

from dartboard.arch.gradient import GRADIENTS
from dartboard.arch.objective import Objective
from dartboard.errors import CompositionError
from dartboard.relax import RELAXATIONS
from dartboard.space import get_space
from dartboard.tasks import Classification
from helpers import networks

NONE_TO_MOVE = "has no architecture parameters, so there is no gradient to take"
NO_REWARDS = "rewards per feedback are gradients in the weights themselves"
DRAWS = "draws a new network for every loss"
IMPOSSIBLE = {
    **dict.fromkeys(product(("attention", "random"), GRADIENTS), NONE_TO_MOVE),
    ("softmax", "clipped-rewards"): NO_REWARDS,
    ("softmax-edges", "clipped-rewards"): NO_REWARDS,
    ("gumbel-softmax", "clipped-rewards"): NO_REWARDS,
    ("gumbel-simplex", "clipped-rewards"): NO_REWARDS,
    ("simplex-edges", "clipped-rewards"): "XNAS has experts for ops alone",
    ("gumbel-softmax", "second-order"): DRAWS,
    ("gumbel-simplex", "second-order"): DRAWS,
    ("gumbel-softmax", "amended"): DRAWS,
    ("gumbel-simplex", "amended"): DRAWS,
}
"""The relaxations that have no such gradient, with the reason they are given."""

SPACE = networks.shrink(get_space("nb201"))
PAIRS = [pair for pair in product(RELAXATIONS, GRADIENTS) if pair not in IMPOSSIBLE]
each_pair = pytest.mark.parametrize(("relaxation", "gradient"), PAIRS, ids=map("-".join, PAIRS))
JOINT = [pair for pair in PAIRS if hasattr(GRADIENTS[pair[1]], "joint")]
each_joint = pytest.mark.parametrize(("relaxation", "gradient"), JOINT, ids=map("-".join, JOINT))


class Scene:
    """A objective in the middle of a search, with two batches and all that must not change."""

    def __init__(self, relaxation, *, pieces=1):
        net = networks.build(SPACE, auxiliary=True)
        made = RELAXATIONS[relaxation](SPACE, torch.Generator().manual_seed(0)).double()
        self.objective = Objective(net, made, Classification(auxiliary=0.4))
        self.objective.micro_batches = pieces
        chance = torch.Generator().manual_seed(1)
        self.train, self.valid = (self.batch(chance) for _ in range(2))
        self.optimizer = SGD(self.objective.weights, 0.1, momentum=0.9, weight_decay=3e-4)
        self.objective.loss(self.train)[0].backward()
        self.optimizer.step()
        for parameter in made.arch_parameters():
            parameter.grad = torch.full_like(parameter, 7.0)  # of an earlier step, to be replaced

    def batch(self, chance):
        return torch.randn(4, 3, 8, 8, generator=chance, dtype=torch.float64), torch.arange(4) % 5

    def fill(self, gradient):
        """The gradient of the architecture, and the loss."""
        loss = GRADIENTS[gradient]()(self.objective, self.train, self.valid, self.optimizer)
        return self.slopes(), loss

    def slopes(self):
        return [parameter.grad.clone() for parameter in self.objective.relaxation.arch_parameters()]

    def rest(self):
        """Everything but the gradient of the architecture and the dice that were meant to be rolled."""
        net, relaxation = self.objective.net, self.objective.relaxation
        found = {f"net {name}": value for name, value in net.state_dict().items()}
        found |= {f"gradient {name}": value.grad for name, value in net.named_parameters()}
        found |= {f"relaxation {name}": value for name, value in relaxation.named_parameters()}
        found |= {
            f"momentum {n}": own["momentum_buffer"] for n, own in enumerate(self.optimizer.state.values())
        }
        found |= {"chance": torch.get_rng_state()}
        kept = {name: value.clone() for name, value in found.items() if value is not None}
        return kept, self.switches()

    def switches(self):
        modules = [*self.objective.net.modules(), *self.objective.relaxation.modules()]
        parameters = [*self.objective.net.parameters(), *self.objective.relaxation.parameters()]
        return (
            [own.training for own in modules],
            [own.requires_grad for own in parameters],
            self.objective.micro_batches,
        )


@pytest.mark.parametrize("pair", IMPOSSIBLE, ids=map("-".join, IMPOSSIBLE))
def test_a_pair_without_meaning_gives_its_reason(pair):
    relaxation = RELAXATIONS[pair[0]](SPACE, torch.Generator())
    with pytest.raises(CompositionError, match=IMPOSSIBLE[pair]) as caught:
        GRADIENTS[pair[1]]().check(relaxation)
    assert "; " in str(caught.value)  # what to do instead


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("pieces", [1, 2])
@each_pair
def test_only_the_gradient_of_the_architecture_changes(relaxation, gradient, pieces, training):
    scene = Scene(relaxation, pieces=pieces)
    scene.objective.net.train(training)
    GRADIENTS[gradient]().check(scene.objective.relaxation)
    before, switches = scene.rest()
    slopes, loss = scene.fill(gradient)
    after, same = scene.rest()
    assert same == switches
    assert after.keys() == before.keys()
    assert not [name for name, value in before.items() if not torch.equal(after[name], value)]
    assert loss.isfinite()
    assert not loss.requires_grad
    for slope, parameter in zip(slopes, scene.objective.relaxation.arch_parameters(), strict=True):
        assert slope.shape == parameter.shape
        assert slope.dtype == parameter.dtype
        assert slope.isfinite().all()
        assert not slope.requires_grad
        assert not (slope == 7).any()
    assert any(slope.any() for slope in slopes)


@each_pair
def test_the_same_question_has_the_same_answer(relaxation, gradient):
    """Gradients replace those before them, and the loss is that of the architecture's own batch."""
    scene, other = Scene(relaxation), Scene(relaxation)
    first, loss = scene.fill(gradient)
    second, same = other.fill(gradient)
    assert torch.equal(loss, same)
    assert all(map(torch.equal, first, second))
    if not scene.objective.relaxation.stochastic:
        third, same = scene.fill(gradient)
        assert torch.equal(loss, same)
        assert all(map(torch.equal, first, third))


@each_pair
def test_pieces_sum_lists_where_examples_do_not_meet(relaxation, gradient):
    """In evaluation mode, where batch-norms see examples one by one; draws differ from piece to piece."""
    scenes = [Scene(relaxation, pieces=pieces) for pieces in (1, 2, 3)]
    if scenes[0].objective.relaxation.stochastic:
        return
    for scene in scenes:
        scene.objective.net.eval()
    (whole, loss), *parts = (scene.fill(gradient) for scene in scenes)
    for slopes, own in parts:
        assert torch.allclose(own, loss)
        for slope, expected in zip(slopes, whole, strict=True):
            assert torch.allclose(slope, expected, rtol=1e-8, atol=1e-10)


@each_joint
def test_joint_gradients_are_those_of_two_passes(relaxation, gradient):
    alone, weights, joint = (Scene(relaxation) for _ in range(3))
    alone.valid = weights.train = joint.train
    expected, _ = alone.fill(gradient)
    for parameter in weights.objective.weights:
        parameter.grad = None
    loss, logits = weights.objective.loss(weights.train)
    loss.backward()
    said = GRADIENTS[gradient]().joint(joint.objective, joint.train)
    assert torch.allclose(said[0], loss)
    assert torch.allclose(said[1], logits)
    for slope, other in zip(joint.slopes(), expected, strict=True):
        assert torch.allclose(slope, other, rtol=1e-8, atol=1e-10)
    for own, other in zip(joint.objective.weights, weights.objective.weights, strict=True):
        expected_slope = torch.zeros_like(own) if other.grad is None else other.grad
        assert torch.allclose(own.grad, expected_slope, rtol=1e-8, atol=1e-10)
