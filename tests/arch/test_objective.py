import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.arch.gradient import FirstOrder
from dartboard.arch.microbatch import local_statistics
from dartboard.arch.objective import Objective, Precision, frozen
from dartboard.distributed import Group
from dartboard.nn.cell import BatchRows
from dartboard.relax import fork_rng
from helpers.search_cases import batch, differences, random_objective, snapshot


def others(objective, seed=3):
    """Weights in the place of the network's own."""
    torch.manual_seed(seed)
    return [torch.randn_like(weight) for weight in objective.net_weights]


def test_the_loss_is_the_mean_cross_entropy():
    objective, (x, y) = random_objective(), batch(0)
    loss, logits = objective.loss((x, y))
    torch.testing.assert_close(logits, objective.net(x, objective.relaxation()))
    expected = torch.stack(
        [torch.logsumexp(row, 0) - row[label] for row, label in zip(logits, y, strict=True)]
    )
    torch.testing.assert_close(loss, expected.mean())


def test_a_mixture_that_is_given_is_the_one_that_counts():
    objective = random_objective(relax="gumbel-softmax")
    with fork_rng(objective.relaxation):
        mixture = objective.relaxation()
    first, again = (objective.loss(batch(0), mixture)[0].item() for _ in range(2))
    assert first == again
    drawn = [objective.loss(batch(0))[0].item() for _ in range(3)]
    assert drawn[0] == first
    assert len(set(drawn)) > 1


def test_labels_are_smoothed():
    (x, y), plain, smooth = batch(0), random_objective(), random_objective(smoothing=0.2)
    logs = plain.loss((x, y))[1].log_softmax(1)
    picked = logs[torch.arange(len(y)), y]
    expected = -(0.8 * picked + 0.2 * logs.mean(1)).mean()
    torch.testing.assert_close(smooth.loss((x, y))[0], expected)


def test_the_auxiliary_classifier_adds_its_share():
    (x, y), objective = batch(0), random_objective(auxiliary=0.4)
    logits, beside = objective.net(x, objective.relaxation(), auxiliary=True)
    expected = F.cross_entropy(logits, y) + 0.4 * F.cross_entropy(beside, y)
    torch.testing.assert_close(objective.loss((x, y))[0], expected)
    torch.testing.assert_close(objective.probe((x, y), objective.net_weights), expected)


class SecondOfThree(Group):
    rank, size = 1, 3


class TwoRanks(Group):
    """A group whose other rank holds the same numbers plus one."""

    size = 2

    def all_reduce(self, tensors: list[Tensor]) -> list[Tensor]:
        return [2 * tensor + 1 for tensor in tensors]


def test_a_batch_of_one_process_and_one_part_is_the_whole():
    x, y = batch(0, size=5)
    (micro,) = random_objective().split((x, y))
    assert micro.batch[0].equal(x)
    assert micro.batch[1].equal(y)
    assert (micro.weight, micro.rows) == (1.0, None)


def test_micro_batches_know_their_rows():
    objective = random_objective()
    objective.micro_batches = 2
    assert [(len(part.batch[1]), part.weight, part.rows) for part in objective.split(batch(0, size=5))] == [
        (3, 0.6, BatchRows(5, 0)),
        (2, 0.4, BatchRows(5, 3)),
    ]


def test_rows_and_weights_are_those_in_the_batch_of_all_ranks():
    objective = random_objective()
    objective.micro_batches, objective.group = 2, SecondOfThree()
    assert [(part.weight, part.rows) for part in objective.split(batch(0, size=5))] == [
        (3 / 15, BatchRows(15, 5)),
        (2 / 15, BatchRows(15, 8)),
    ]


def test_lists_are_summed_over_micro_batches_and_ranks():
    objective, one = random_objective(), torch.tensor([1.0])
    assert objective.reduce([[one]])[0] is one
    assert [total.tolist() for total in objective.reduce([[one, one], [one, one]])] == [[2.0], [2.0]]
    objective.group = TwoRanks()
    assert [total.tolist() for total in objective.reduce([[one, one], [one, one]])] == [[5.0], [5.0]]


def test_statistics_become_their_mean_over_ranks():
    objective = random_objective()
    local = local_statistics(objective.net)
    expected = [statistic + 0.5 for statistic in local]
    objective.group = TwoRanks()
    objective.average_buffers()
    for statistic, mean in zip(local, expected, strict=True):
        torch.testing.assert_close(statistic, mean)


def test_a_batch_passes_in_pieces_with_their_shares():
    objective, (x, y) = random_objective(), batch(0, size=5)
    objective.micro_batches = 2
    parts = list(objective.passes((x, y)))
    assert [micro.weight for micro in parts] == [0.6, 0.4]
    assert torch.equal(torch.cat([micro.batch[0] for micro in parts]), x)
    assert torch.equal(torch.cat([micro.batch[1] for micro in parts]), y)


@pytest.mark.parametrize("pieces", [2, 3])
def test_pieces_meet_with_the_chance_of_the_whole_batch(pieces):
    found = []
    for count in (1, pieces):
        objective = random_objective(relax="gumbel-softmax")
        objective.net.drop_path, objective.micro_batches = 0.4, count
        for norm in norms_of(objective.net):
            norm.eval()  # else it would couple what passes together
        torch.manual_seed(5)
        said = [
            objective.loss(micro.batch, rows=micro.rows)[1] for micro in objective.passes(batch(0, size=5))
        ]
        found.append((torch.cat(said), torch.rand(3), objective.relaxation().blend(0).live))
    torch.testing.assert_close(found[1][0], found[0][0])
    assert torch.equal(found[1][1], found[0][1])
    assert found[1][2] == found[0][2]


def norms_of(net):
    return [own for own in net.modules() if isinstance(own, nn.BatchNorm2d)]


def test_statistics_become_the_mean_of_what_pieces_make_of_them():
    (x, y), objective = batch(0, size=5), random_objective()
    first = norms_of(objective.net)[0]
    start, made = first.running_mean.clone(), []
    for own in (slice(0, 3), slice(3, 5)):
        with objective.preserve_buffers():
            objective.loss((x[own], y[own]))
            made.append(first.running_mean.clone())
    objective.micro_batches = 2
    for micro in objective.passes((x, y)):
        objective.loss(micro.batch, rows=micro.rows)
    torch.testing.assert_close(first.running_mean, 0.6 * made[0] + 0.4 * made[1])
    assert first.num_batches_tracked == 1
    assert not torch.equal(first.running_mean, start)


def test_a_probe_sees_the_weights_it_is_given():
    objective, other = random_objective(), random_objective(seed=1)
    other.relaxation.load_state_dict(objective.relaxation.state_dict())
    found = objective.probe(batch(0), other.net_weights)
    torch.testing.assert_close(found, other.loss(batch(0))[0])
    assert abs(found - objective.loss(batch(0))[0]) > 1e-3


def test_a_probe_can_be_differentiated_in_weights_and_architecture():
    objective = random_objective()
    weights = [weight.detach().requires_grad_() for weight in objective.net_weights]
    arch = objective.relaxation.arch_parameters()
    with objective.preserve_buffers():
        found = torch.autograd.grad(objective.probe(batch(0), weights), [*arch, *weights], allow_unused=True)
    objective.loss(batch(0))[0].backward()
    expected = [values.grad for values in (*arch, *objective.net_weights)]
    assert any(slope is not None for slope in found[len(arch) :])
    for slope, other in zip(found, expected, strict=True):
        assert (slope is None) == (other is None)
        if slope is not None:
            torch.testing.assert_close(slope, other)


def test_a_probe_changes_nothing_and_drops_the_same_paths_every_time():
    objective = random_objective(drop_path=0.5)
    drawn = others(objective)
    before, chance = snapshot(objective), torch.get_rng_state()
    with objective.preserve_buffers():
        losses = {objective.probe(batch(0), drawn).item() for _ in range(3)}
    assert len(losses) == 1
    assert torch.equal(torch.get_rng_state(), chance)
    assert differences(snapshot(objective), before) == []


def test_other_chance_drops_other_paths():
    objective = random_objective(drop_path=0.5)
    losses = set()
    for seed in range(3):
        torch.manual_seed(seed)
        losses.add(objective.probe(batch(0), objective.net_weights).item())
    assert len(losses) == 3


def test_statistics_come_back_even_after_an_error():
    objective = random_objective()
    before = snapshot(objective)
    with pytest.raises(ZeroDivisionError), objective.preserve_buffers():  # noqa: PT012
        objective.loss(batch(0))
        assert differences(snapshot(objective), before)
        raise ZeroDivisionError
    assert differences(snapshot(objective), before) == []


def test_buffers_of_every_type_come_back():
    objective = random_objective()
    objective.net.register_buffer("single", torch.ones(2, dtype=torch.float32))
    objective.refresh()
    before = {name: buffer.clone() for name, buffer in objective.net.named_buffers()}
    assert len({buffer.dtype for buffer in before.values()}) == 3
    with objective.preserve_buffers():
        objective.loss(batch(0))
        objective.net.single += 1
        assert all(not torch.equal(buffer, before[name]) for name, buffer in objective.net.named_buffers())
    assert all(torch.equal(buffer, before[name]) for name, buffer in objective.net.named_buffers())


def test_full_precision_has_no_scale():
    plain = random_objective()
    objective, loss = Objective(plain.net, plain.relaxation), torch.tensor(2.0)
    assert objective.precision.dtype is objective.precision.scale is None
    assert objective.precision.scaled(loss) is loss
    assert objective.precision.unscaled([loss])[0] is loss


def test_frozen_parameters_thaw_as_they_were():
    """Even after an error, and what somebody else has frozen stays so."""
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(3)]
    parameters[1].requires_grad_(False)
    with pytest.raises(ZeroDivisionError), frozen(parameters):  # noqa: PT012
        assert not any(own.requires_grad for own in parameters)
        raise ZeroDivisionError
    assert [own.requires_grad for own in parameters] == [True, False, True]


def test_what_was_pruned_is_no_weight_any_more():
    objective = random_objective()
    everything = len(objective.weights)
    live = tuple((0, 1, 3) for _ in objective.net.space.cells["cell"].edges)
    gone = objective.net.prune({"cell": live})
    objective.refresh()
    assert len(objective.weights) == len(objective.net_weights) == everything - len(gone) < everything
    assert not {id(own) for own in gone} & {id(own) for own in objective.weights}


def test_weights_of_the_relaxation_are_weights():
    objective = random_objective(relax="attention")
    own = objective.relaxation.weight_parameters()
    assert own
    assert [id(values) for values in objective.weights] == [id(v) for v in (*objective.net_weights, *own)]


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_half_precision_computes_in_halves_and_judges_in_full(precision):
    full = random_objective(dtype=torch.float32)
    half = random_objective(dtype=torch.float32, precision=precision)
    (x, y) = batch(0, dtype=torch.float32)
    (expected, wanted), (loss, logits) = full.loss((x, y)), half.loss((x, y))
    assert logits.dtype == loss.dtype == torch.float32
    assert 0 < (logits - wanted).abs().max() < 0.1
    assert 0 < abs(loss - expected).item() < 0.05
    with half.preserve_buffers():
        assert half.probe((x, y), half.net_weights).dtype == torch.float32


def test_the_scale_cancels_out():
    objective = random_objective(scale=torch.tensor(1024.0, dtype=torch.float64))
    slopes = [torch.tensor([1.0, -2.0]), torch.tensor(3.0)]
    assert objective.precision.scaled(torch.tensor(2.0)) == 2048
    found = objective.precision.unscaled([slope * 1024 for slope in slopes])
    for slope, expected in zip(found, slopes, strict=True):
        assert torch.equal(slope.to(expected), expected)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_one_overflow_makes_all_slopes_zero(bad):
    objective = random_objective(scale=torch.tensor(1024.0))
    found = objective.precision.unscaled([torch.ones(2), torch.tensor([1.0, bad])])
    assert all(torch.equal(slope, torch.zeros(2)) for slope in found)


def test_a_scale_that_overflows_leaves_no_trace_in_the_architecture():
    objective = random_objective(scale=torch.tensor(1e308, dtype=torch.float64))
    objective.precision.scale = objective.precision.scale * 1e308
    FirstOrder()(objective, batch(0), batch(1), torch.optim.SGD(objective.weights, 0.1))
    assert all(not values.grad.any() for values in objective.relaxation.arch_parameters())


def test_full_precision_leaves_everything_as_it_is() -> None:
    precision, x = Precision(), torch.ones(2, dtype=torch.float64)
    assert precision.full((x,))[0] is x
    assert precision.scaled(x) is x
    assert precision.unscaled([x])[0] is x
    with precision.autocast(torch.device("cpu")):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


def test_half_precision_computes_in_halves_and_returns_full() -> None:
    precision = Precision(torch.bfloat16)
    with precision.autocast(torch.device("cpu")):
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert product.dtype is torch.bfloat16
    assert [output.dtype for output in precision.full((product, product))] == [torch.float32] * 2


def test_the_scale_of_a_precision_cancels_out() -> None:
    precision, weight = Precision(scale=torch.tensor(1024.0)), torch.tensor(3.0, requires_grad=True)
    (grad,) = precision.unscaled(torch.autograd.grad(precision.scaled(weight**2), [weight]))
    assert grad == 6


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_one_overflow_makes_all_gradients_zero(bad: float) -> None:
    grads = Precision(scale=torch.tensor(2.0)).unscaled([torch.ones(2), torch.tensor([1.0, bad])])
    assert all(torch.equal(grad, torch.zeros(2)) for grad in grads)
