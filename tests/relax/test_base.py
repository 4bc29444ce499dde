import pytest
import torch
import torch.nn.functional as F

from dartboard.errors import RelaxationError
from dartboard.relax import Gumbel, RandomArchitecture, fork_rng, simplex, softmax
from dartboard.space import get_space
from helpers import networks

BATCH = 4


def inputs(net):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(BATCH, *net.config.input, generator=generator, dtype=torch.float64)
    return x, torch.arange(BATCH) % 5


def loss_of(net, mixture, *, rows=slice(None)):
    x, labels = inputs(net)
    return F.cross_entropy(net(x[rows], mixture), labels[rows], reduction="sum")


def feedback_of(mixture, loss):
    """The gradient of a loss in all leaves of a mixture, by group, from one backward pass."""
    grads = torch.autograd.grad(loss, mixture.leaves(), allow_unused=True, materialize_grads=True)
    return mixture.gather(grads)


def shrunk(name, ragged):
    return ragged if name == "ragged" else networks.shrink(get_space(name))


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", ["ragged", "xnas", "oneshot2", "s2"])
def test_the_sum_over_examples_and_slots_is_the_gradient_of_the_batch(ragged, name, training):
    space = shrunk(name, ragged)
    net, relaxation = networks.build(space).train(training), simplex(space).double()
    mixture = relaxation.per_example(BATCH)
    feedback = feedback_of(mixture, loss_of(net, mixture))
    loss_of(net, relaxation()).backward()
    for arch, cell in relaxation.named_cells():
        chosen = cell.candidates.mask & (cell.candidates.mask.sum(-1, keepdim=True) > 1)
        total = feedback[arch].ops.sum((0, 1)).masked_fill(~chosen, 0)
        assert cell.ops.grad.abs().max() > 1e-4
        assert torch.allclose(total, cell.ops.grad, atol=1e-12)
        if cell.edges is not None:
            expected = torch.cat([cell.edges.grad.flatten(), torch.zeros(1, dtype=torch.float64)])
            competing = cell.group_places < cell.edges.numel()
            total = feedback[arch].edges.sum((0, 1)) * competing
            assert cell.edges.grad.abs().max() > 1e-4
            assert torch.allclose(total, expected[cell.group_places], atol=1e-12)


@pytest.mark.parametrize("name", ["ragged", "xnas", "oneshot2"])
def test_each_example_has_the_gradient_of_its_own_loss(ragged, name):
    """In evaluation mode, where batch-norms do not couple examples."""
    space = shrunk(name, ragged)
    net, relaxation = networks.build(space).eval(), simplex(space, edge_weights=True).double()
    mixture = relaxation.per_example(BATCH)
    feedback = feedback_of(mixture, loss_of(net, mixture))
    for example in range(BATCH):
        alone = relaxation.per_example(1)
        expected = feedback_of(alone, loss_of(net, alone, rows=slice(example, example + 1)))
        for arch in expected:
            assert torch.allclose(feedback[arch].ops[:, example], expected[arch].ops[:, 0], atol=1e-12)
            assert torch.allclose(feedback[arch].edges[:, example], expected[arch].edges[:, 0], atol=1e-12)


def test_each_slot_has_a_gradient_of_its_own(ragged):
    net, relaxation = networks.build(ragged).eval(), simplex(ragged).double()
    mixture = relaxation.per_example(BATCH)
    feedback = feedback_of(mixture, loss_of(net, mixture))["cell"]
    assert feedback.ops.shape == (2, BATCH, 6, 3)
    assert feedback.edges is None
    assert not torch.allclose(feedback.ops[0], feedback.ops[1])
    step = 1e-6
    for slot, index in enumerate((0, 2)):
        moved = relaxation.per_example(BATCH)
        with torch.no_grad():
            moved.blend(index).ops[1, 0, 2] += step
            change = (loss_of(net, moved) - loss_of(net, relaxation())) / step
        assert feedback.ops[slot, 1, 0, 2].item() == pytest.approx(change.item(), rel=1e-3)


def test_one_backward_is_enough_and_no_grad_is_touched(ragged):
    net, relaxation = networks.build(ragged), simplex(ragged, edge_weights=True).double()
    mixture = relaxation.per_example(BATCH)
    loss = loss_of(net, mixture)
    with networks.Calls() as each:
        feedback_of(mixture, loss)
    weights = [values.requires_grad_() for values in relaxation.arch_parameters()]
    loss = loss_of(net, relaxation())
    with networks.Calls() as batch:
        torch.autograd.grad(loss, weights)
    convolutions = "aten::convolution_backward"
    assert each.count[convolutions] == batch.count[convolutions] > 0
    touched = [*net.parameters(), *relaxation.parameters(), *mixture.leaves()]
    assert all(values.grad is None for values in touched)


def test_the_values_are_those_of_the_relaxation(ragged, generator):
    relaxation = softmax(ragged, edge_weights=True, generator=generator)
    blend, each = relaxation().blend(2), relaxation.per_example(5).blend(2)
    assert each.live == blend.live
    assert torch.equal(each.ops, blend.ops.expand(5, -1, -1))
    assert torch.equal(each.edges, blend.edges.expand(5, -1))
    assert each.ops.is_leaf
    assert each.edges.is_leaf


def test_the_dead_have_no_reward(ragged):
    net, relaxation = networks.build(ragged), simplex(ragged).double()
    relaxation.kill("cell", 0, 2)
    mixture = relaxation.per_example(BATCH)
    feedback = feedback_of(mixture, loss_of(net, mixture))["cell"]
    assert (feedback.ops[:, :, 0, 2] == 0).all()
    assert (feedback.ops[:, :, 0, 1] != 0).all()


def test_a_batch_has_examples(ragged):
    with pytest.raises(RelaxationError, match="not 0"):
        simplex(ragged).per_example(0)


def gumbel(space, generator):
    return Gumbel(softmax(space), generator=generator)


def random(space, generator):
    return RandomArchitecture(space, generator=generator)


STOCHASTIC = {"gumbel": gumbel, "random": random}


@pytest.mark.parametrize("kind", ["gumbel", "random"])
def test_samples_inside_a_fork_are_drawn_again_after_it(ragged, generator, kind):
    relaxation = STOCHASTIC[kind](ragged, generator)
    relaxation()
    with fork_rng(relaxation):
        inside = [relaxation().blend(0).live for _ in range(5)]
    assert len(set(inside)) > 1
    assert [relaxation().blend(0).live for _ in range(5)] == inside


def test_the_state_is_restored_after_an_error(ragged, generator):
    relaxation = gumbel(ragged, generator)
    before = relaxation.dice.get_extra_state()
    with pytest.raises(ZeroDivisionError), fork_rng(relaxation):  # noqa: PT012
        relaxation()
        raise ZeroDivisionError
    assert torch.equal(relaxation.dice.get_extra_state(), before)


def test_all_generators_of_a_module_are_forked(ragged):
    both = torch.nn.ModuleList(gumbel(ragged, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    with fork_rng(both):
        inside = [relaxation().blend(0).live for relaxation in both]
    assert [relaxation().blend(0).live for relaxation in both] == inside
