import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dartboard.nn.fast.norm import (
    normalize,
    normalize_once,
    normalize_relu_depthwise,
    per_channel,
    scale_blocks,
    update_running_stats,
)
from helpers import networks

CHANNELS = 4


class OwnNorm(nn.BatchNorm2d):
    """A norm with ways of its own, as a synchronized one has."""

    def forward(self, x):
        return super().forward(x) + 1


def make_norms(count: int = 3, *, affine: bool = True, kind: type[nn.BatchNorm2d] = nn.BatchNorm2d):
    norms = nn.ModuleList(kind(CHANNELS, affine=affine) for _ in range(count)).double()
    networks.randomize(norms, seed=0)
    return norms


def image(count: int = 3, *, batch: int = 2, size: int = 5) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(batch, count * CHANNELS, size, size, dtype=torch.float64, requires_grad=True)


def alone(x, norms, weight=None):
    """Each norm on its own block, each block times its own weight."""
    blocks = [norm(block) for norm, block in zip(norms, x.chunk(len(norms), dim=1), strict=True)]
    if weight is not None:
        blocks = [block * weight[..., index].view(-1, 1, 1, 1) for index, block in enumerate(blocks)]
    return torch.cat(blocks, dim=1)


def results(function, x, norms, *more):
    """Output, gradients, second derivatives and buffers."""
    y = function(x, norms, *more)
    inputs = [x, *norms.parameters(), *more]
    first = torch.autograd.grad(y.sin().sum(), inputs, create_graph=True)
    second = torch.autograd.grad([g.square().sum() for g in first], inputs, allow_unused=True)
    names = [f"{kind} {index}" for kind in ("gradient", "hessian") for index in range(len(inputs))]
    found = {"output": y} | dict(zip(names, (*first, *second), strict=True))
    return found | {f"buffer {name}": value for name, value in norms.named_buffers()}


def check_alike(x, norms, *more, function=normalize, reference=alone):
    expected = results(reference, x, copy.deepcopy(norms), *more)
    networks.assert_equal(results(function, x, norms, *more), expected, within=1e-9)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("weights", [None, "one", "example"])
@pytest.mark.parametrize("count", [1, 3])
def test_many_norms_are_each_of_them(count, weights, affine, training):
    norms, x = make_norms(count, affine=affine).train(training), image(count)
    shape = {"one": (count,), "example": (2, count)}
    more = [] if weights is None else [torch.rand(shape[weights], dtype=torch.float64, requires_grad=True)]
    for _ in range(2):  # the second time with buffers that have moved
        check_alike(x, norms, *more)
    assert int(norms[0].num_batches_tracked) == 2 * training


def own_eps(norms):
    norms[1].eps = 0.1


def own_momentum(norms):
    norms[1].momentum = 0.5


def average(norms):
    for norm in norms:  # what torch.optim.swa_utils.update_bn does
        norm.momentum = None


def frozen(norms):
    norms[0].eval()


def no_statistics(norms):
    for norm in norms:
        norm.track_running_stats, norm.running_mean, norm.running_var = False, None, None
        norm.num_batches_tracked = None


@pytest.mark.parametrize("set_up", [own_eps, own_momentum, average, frozen, no_statistics])
@pytest.mark.parametrize("affine", [True, False])
def test_norms_that_are_set_up_otherwise_keep_their_ways(set_up, affine):
    norms = make_norms(affine=affine)
    set_up(norms)
    weight = torch.rand(3, dtype=torch.float64, requires_grad=True)
    check_alike(image(), norms, weight)
    check_alike(image(), norms.eval(), weight)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_other_classes_of_norms_keep_their_ways(training):
    norms = make_norms(kind=OwnNorm).train(training)
    check_alike(image(), norms, torch.rand(3, dtype=torch.float64, requires_grad=True))
    assert normalize_once(image(1), make_norms(2, affine=False, kind=OwnNorm)) is None


def norm_relu_convolve(x, norms, weight):
    return F.conv2d(alone(x, norms).relu(), weight, None, 1, 2, 1, weight.shape[0])


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", [nn.BatchNorm2d, OwnNorm])
def test_norms_before_a_depthwise_convolution(kind, affine, training):
    norms = make_norms(affine=affine, kind=kind).train(training)
    weight = torch.randn(3 * CHANNELS, 1, 5, 5, dtype=torch.float64, requires_grad=True)
    check_alike(
        image(),
        norms,
        weight,
        function=lambda x, norms, weight: normalize_relu_depthwise(x, norms, weight, dilation=1),
        reference=norm_relu_convolve,
    )


@pytest.mark.parametrize("run", [normalize, lambda *given: normalize_relu_depthwise(*given, dilation=1)])
def test_one_value_a_channel_cannot_be_normalized(run):
    weight = [] if run is normalize else [torch.ones(3 * CHANNELS, 1, 3, 3).double()]
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        run(image(batch=1, size=1), make_norms(), *weight)


def test_norms_of_one_input_agree_in_training():
    norms, x = make_norms(affine=False), image(1)
    expected = copy.deepcopy(norms)
    torch.testing.assert_close(normalize_once(x, norms), expected[0](x))
    for norm in expected[1:]:
        norm(x)
    networks.assert_equal(dict(norms.named_buffers()), dict(expected.named_buffers()), within=1e-12)
    assert not torch.equal(norms[0].running_mean, norms[1].running_mean)


def test_norms_of_one_input_may_differ():
    assert normalize_once(image(1), make_norms(affine=False).eval()) is None
    assert normalize_once(image(1), make_norms(affine=True)) is None


def test_blocks_are_weighted():
    x = torch.ones(2, 6, 1, 1)
    assert scale_blocks(x, None) is x
    assert scale_blocks(x, torch.tensor([1.0, 2.0])).flatten(1).tolist() == [[1, 1, 1, 2, 2, 2]] * 2
    each = scale_blocks(x, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert each.flatten(1).tolist() == [[1, 1, 1, 2, 2, 2], [3, 3, 3, 4, 4, 4]]


def test_a_weight_per_channel_is_stored_per_channel():
    """Torch's batch-norm misreads, in its backward, a scale that is one number seen many times."""
    for count in (1, 2):
        assert per_channel(torch.ones(count), 4).stride() == (1,)


def test_statistics_move_by_the_momentum():
    norms = make_norms(2)
    before = [(norm.running_mean.clone(), norm.running_var.clone()) for norm in norms]
    means, variances = torch.full((2, CHANNELS), 3.0).double(), torch.full((2, CHANNELS), 5.0).double()
    update_running_stats(norms, means.unbind(), variances.unbind())
    for norm, (mean, variance) in zip(norms, before, strict=True):
        torch.testing.assert_close(norm.running_mean, 0.9 * mean + 0.3)
        torch.testing.assert_close(norm.running_var, 0.9 * variance + 0.5)
        assert int(norm.num_batches_tracked) == 1
