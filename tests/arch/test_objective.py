import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dartboard.arch.gradient import FirstOrder
from dartboard.arch.objective import frozen
from dartboard.relax import fork_rng
from searching import batch, differences, problem, snapshot


def others(task, seed=3):
    """Weights in the place of the network's own."""
    torch.manual_seed(seed)
    return [torch.randn_like(weight) for weight in task.own_weights]


def test_the_loss_is_the_mean_cross_entropy():
    task, (x, y) = problem(), batch(0)
    loss, logits = task.loss((x, y))
    torch.testing.assert_close(logits, task.net(x, task.relaxation()))
    expected = torch.stack(
        [torch.logsumexp(row, 0) - row[label] for row, label in zip(logits, y, strict=True)]
    )
    torch.testing.assert_close(loss, expected.mean())


def test_a_mixture_that_is_given_is_the_one_that_counts():
    task = problem(relax="gumbel-softmax")
    with fork_rng(task.relaxation):
        mixture = task.relaxation()
    first, again = (task.loss(batch(0), mixture)[0].item() for _ in range(2))
    assert first == again
    drawn = [task.loss(batch(0))[0].item() for _ in range(3)]
    assert drawn[0] == first
    assert len(set(drawn)) > 1


def test_labels_are_smoothed():
    (x, y), plain, smooth = batch(0), problem(), problem(smoothing=0.2)
    logs = plain.loss((x, y))[1].log_softmax(1)
    picked = logs[torch.arange(len(y)), y]
    expected = -(0.8 * picked + 0.2 * logs.mean(1)).mean()
    torch.testing.assert_close(smooth.loss((x, y))[0], expected)


def test_the_auxiliary_classifier_adds_its_share():
    (x, y), task = batch(0), problem(auxiliary=0.4)
    logits, beside = task.net(x, task.relaxation(), auxiliary=True)
    expected = F.cross_entropy(logits, y) + 0.4 * F.cross_entropy(beside, y)
    torch.testing.assert_close(task.loss((x, y))[0], expected)
    torch.testing.assert_close(task.probe((x, y), task.own_weights), expected)


def test_a_batch_passes_in_pieces_with_their_shares():
    task, (x, y) = problem(), batch(0, size=5)
    task.pieces = 2
    parts = list(task.split((x, y)))
    assert [share for _, share in parts] == [0.6, 0.4]
    assert torch.equal(torch.cat([images for (images, _), _ in parts]), x)
    assert torch.equal(torch.cat([labels for (_, labels), _ in parts]), y)


@pytest.mark.parametrize("pieces", [2, 3])
def test_pieces_meet_with_the_chance_of_the_whole_batch(pieces):
    found = []
    for count in (1, pieces):
        task = problem(relax="gumbel-softmax")
        task.net.drop_path, task.pieces = 0.4, count
        for norm in norms_of(task.net):
            norm.eval()  # else it would couple what passes together
        torch.manual_seed(5)
        said = [task.loss(piece)[1] for piece, _ in task.split(batch(0, size=5))]
        found.append((torch.cat(said), torch.rand(3), task.relaxation().blend(0).live))
    torch.testing.assert_close(found[1][0], found[0][0])
    assert torch.equal(found[1][1], found[0][1])
    assert found[1][2] == found[0][2]


def norms_of(net):
    return [own for own in net.modules() if isinstance(own, nn.BatchNorm2d)]


def test_statistics_become_the_mean_of_what_pieces_make_of_them():
    (x, y), task = batch(0, size=5), problem()
    first = norms_of(task.net)[0]
    start, made = first.running_mean.clone(), []
    for own in (slice(0, 3), slice(3, 5)):
        with task.undisturbed():
            task.loss((x[own], y[own]))
            made.append(first.running_mean.clone())
    task.pieces = 2
    for piece, _ in task.split((x, y)):
        task.loss(piece)
    torch.testing.assert_close(first.running_mean, 0.6 * made[0] + 0.4 * made[1])
    assert first.num_batches_tracked == 1
    assert not torch.equal(first.running_mean, start)


def test_a_probe_sees_the_weights_it_is_given():
    task, other = problem(), problem(seed=1)
    other.relaxation.load_state_dict(task.relaxation.state_dict())
    found = task.probe(batch(0), other.own_weights)
    torch.testing.assert_close(found, other.loss(batch(0))[0])
    assert abs(found - task.loss(batch(0))[0]) > 1e-3


def test_a_probe_can_be_differentiated_in_weights_and_architecture():
    task = problem()
    weights = [weight.detach().requires_grad_() for weight in task.own_weights]
    arch = task.relaxation.arch_parameters()
    with task.undisturbed():
        found = torch.autograd.grad(task.probe(batch(0), weights), [*arch, *weights], allow_unused=True)
    task.loss(batch(0))[0].backward()
    expected = [values.grad for values in (*arch, *task.own_weights)]
    assert any(slope is not None for slope in found[len(arch) :])
    for slope, other in zip(found, expected, strict=True):
        assert (slope is None) == (other is None)
        if slope is not None:
            torch.testing.assert_close(slope, other)


def test_a_probe_changes_nothing_and_drops_the_same_paths_every_time():
    task = problem(drop_path=0.5)
    drawn = others(task)
    before, chance = snapshot(task), torch.get_rng_state()
    with task.undisturbed():
        losses = {task.probe(batch(0), drawn).item() for _ in range(3)}
    assert len(losses) == 1
    assert torch.equal(torch.get_rng_state(), chance)
    assert differences(snapshot(task), before) == []


def test_other_chance_drops_other_paths():
    task = problem(drop_path=0.5)
    losses = set()
    for seed in range(3):
        torch.manual_seed(seed)
        losses.add(task.probe(batch(0), task.own_weights).item())
    assert len(losses) == 3


def test_statistics_come_back_even_after_an_error():
    task = problem()
    before = snapshot(task)
    with pytest.raises(ZeroDivisionError), task.undisturbed():  # noqa: PT012
        task.loss(batch(0))
        assert differences(snapshot(task), before)
        raise ZeroDivisionError
    assert differences(snapshot(task), before) == []


def test_frozen_parameters_thaw_as_they_were():
    """Even after an error, and what somebody else has frozen stays so."""
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(3)]
    parameters[1].requires_grad_(False)
    with pytest.raises(ZeroDivisionError), frozen(parameters):  # noqa: PT012
        assert not any(own.requires_grad for own in parameters)
        raise ZeroDivisionError
    assert [own.requires_grad for own in parameters] == [True, False, True]


def test_what_was_pruned_is_no_weight_any_more():
    task = problem()
    everything = len(task.weights)
    live = tuple((0, 1, 3) for _ in task.net.space.cells["cell"].edges)
    gone = task.net.prune({"cell": live})
    task.refresh()
    assert len(task.weights) == len(task.own_weights) == everything - len(gone) < everything
    assert not {id(own) for own in gone} & {id(own) for own in task.weights}


def test_weights_of_the_relaxation_are_weights():
    task = problem(relax="attention")
    own = task.relaxation.weight_parameters()
    assert own
    assert [id(values) for values in task.weights] == [id(v) for v in (*task.own_weights, *own)]


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_half_precision_computes_in_halves_and_judges_in_full(precision):
    full = problem(dtype=torch.float32)
    half = problem(dtype=torch.float32, precision=precision)
    (x, y) = batch(0, dtype=torch.float32)
    (expected, wanted), (loss, logits) = full.loss((x, y)), half.loss((x, y))
    assert logits.dtype == loss.dtype == torch.float32
    assert 0 < (logits - wanted).abs().max() < 0.1
    assert 0 < abs(loss - expected).item() < 0.05
    with half.undisturbed():
        assert half.probe((x, y), half.own_weights).dtype == torch.float32


def test_the_scale_cancels_out():
    task = problem(scale=torch.tensor(1024.0, dtype=torch.float64))
    slopes = [torch.tensor([1.0, -2.0]), torch.tensor(3.0)]
    assert task.scaled(torch.tensor(2.0)) == 2048
    found = task.unscaled([slope * 1024 for slope in slopes])
    for slope, expected in zip(found, slopes, strict=True):
        assert torch.equal(slope.to(expected), expected)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_one_overflow_makes_all_slopes_zero(bad):
    task = problem(scale=torch.tensor(1024.0))
    found = task.unscaled([torch.ones(2), torch.tensor([1.0, bad])])
    assert all(torch.equal(slope, torch.zeros(2)) for slope in found)


def test_a_scale_that_overflows_leaves_no_trace_in_the_architecture():
    task = problem(scale=torch.tensor(1e308, dtype=torch.float64))
    task.scale = task.scale * 1e308
    FirstOrder()(task, batch(0), batch(1), torch.optim.SGD(task.weights, 0.1))
    assert all(not values.grad.any() for values in task.relaxation.arch_parameters())
