import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dartboard.errors import UnknownNameError
from dartboard.nn.network import STEMS, AuxiliaryHead, Classifier, ResidualReduction, quarter_means
from dartboard.space import get_space
from helpers import networks


def image(channels: int, height: int, width: int, batch: int = 3) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(batch, channels, height, width, dtype=torch.float64)


def scrambled(module: nn.Module, *, training: bool) -> nn.Module:
    networks.randomize(module.double(), seed=0)
    return module.train(training)


# The sizes of the two tensors that enter the first cell.
SIZES = {
    "small": {(32, 32): [(32, 32)] * 2, (9, 7): [(9, 7)] * 2},
    "half": {(64, 64): [(32, 32)] * 2, (9, 7): [(5, 4)] * 2},
    "imagenet": {(224, 224): [(56, 56), (28, 28)], (65, 33): [(17, 9), (9, 5)]},
}


@pytest.mark.parametrize("name", STEMS)
def test_a_stem_gives_two_tensors_at_its_scales(name):
    with torch.device("meta"):
        stem = STEMS[name](4, 16, 3)
        for (height, width), sizes in SIZES[name].items():
            outputs = stem(torch.empty(2, 4, height, width))
            assert [tuple(output.shape) for output in outputs] == [
                (2, stem.channels, *size) for size in sizes
            ]
            for size, scale in zip(sizes, stem.scales, strict=True):
                assert size == (-(-height // scale), -(-width // scale))


@pytest.mark.parametrize("name", STEMS)
def test_a_stem_is_convolutions_and_norms_in_a_row(name):
    stem = scrambled(STEMS[name](3, 4, 2), training=False)
    convolutions = [module for module in stem.modules() if isinstance(module, nn.Conv2d)]
    norms = [module for module in stem.modules() if networks.is_norm(module)]
    x, outputs = image(3, 32, 32), []
    for index, (conv, norm) in enumerate(zip(convolutions, norms, strict=True)):
        x = norm(conv(x.relu() if index else x))  # a ReLU between two, none at the end
        outputs.append(x)
    expected = outputs[-2:] if len(outputs) > 1 else [x, x]
    for found, one in zip(stem(image(3, 32, 32)), expected, strict=True):
        torch.testing.assert_close(found, one)


def test_stems_are_as_wide_as_the_stack_asks_for():
    assert [STEMS[name](3, 16, 3).channels for name in ("small", "half", "imagenet")] == [48, 48, 16]


def test_a_wrong_stem_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no stem called 'imagnet'; did you mean 'imagenet'"):
        STEMS["imagnet"]


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_a_residual_reduction_is_that_of_nas_bench_201(training):
    block = scrambled(ResidualReduction(4, 8), training=training)
    reference = [nn.Conv2d(4, 8, 3, 2, 1, bias=False), nn.Conv2d(8, 8, 3, 1, 1, bias=False)]
    norms = [nn.BatchNorm2d(8), nn.BatchNorm2d(8)]
    first, second = (
        nn.Sequential(nn.ReLU(), conv, norm) for conv, norm in zip(reference, norms, strict=True)
    )
    beside = nn.Sequential(nn.AvgPool2d(2, 2), nn.Conv2d(4, 8, 1, bias=False))
    for parts in (first, second, beside):
        parts.double().train(training)
    first[1].load_state_dict(block.first.conv.state_dict())
    second[1].load_state_dict(block.second.conv.state_dict())
    first[2].load_state_dict(block.first.norm.state_dict())
    second[2].load_state_dict(block.second.norm.state_dict())
    beside[1].load_state_dict(block.shortcut.state_dict())
    x = image(4, 6, 8)
    torch.testing.assert_close(block(x), second(first(x)) + beside(x))
    assert block(image(4, 7, 5)).shape == (3, 8, 4, 3)


def test_a_pooling_between_stages():
    space = get_space("oneshot1")
    modules = networks.build(space).slots
    pools = [module for module, slot in zip(modules, space.slots, strict=True) if not slot.group]
    assert len(pools) == 2
    x = image(4, 6, 5)
    assert all(torch.equal(pool(x), F.max_pool2d(x, 2, ceil_mode=True)) for pool in pools)


def test_a_classifier_reads_the_mean():
    head = scrambled(Classifier(4, 7, norm=False), training=False)
    x = image(4, 3, 5)
    expected = x.flatten(2).mean(-1) @ head.linear.weight.T + head.linear.bias
    torch.testing.assert_close(head(x), expected)


def test_a_classifier_may_normalize_first():
    head = scrambled(Classifier(4, 7, norm=True), training=False)
    x = image(4, 3, 5)
    expected = head.norm(x).relu().flatten(2).mean(-1) @ head.linear.weight.T + head.linear.bias
    torch.testing.assert_close(head(x), expected)


@pytest.mark.parametrize(("size", "stride"), [(8, 3), (7, 2)], ids=["cifar", "imagenet"])
def test_the_auxiliary_head_is_that_of_darts(size, stride):
    head = scrambled(AuxiliaryHead(4, 7), training=True)
    x = F.avg_pool2d(image(4, size, size).relu(), 5, stride, 0, count_include_pad=False)
    x = F.batch_norm(
        head.squeeze(x), None, None, head.squeeze_norm.weight, head.squeeze_norm.bias, True
    ).relu()
    x = F.batch_norm(head.expand(x), None, None, head.expand_norm.weight, head.expand_norm.bias, True).relu()
    assert head.squeeze.weight.shape == (128, 4, 1, 1)
    assert head.expand.weight.shape == (768, 128, 2, 2)
    torch.testing.assert_close(head(image(4, size, size)), head.linear(x.flatten(1)))


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 5), (5, 5), (6, 6), (6, 9), (16, 7), (28, 28), (1, 9)])
def test_the_auxiliary_head_reads_any_size(size):
    with torch.device("meta"):
        assert AuxiliaryHead(4, 7)(torch.empty(2, 4, *size)).shape == (2, 7)


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 5), (4, 7), (5, 2)])
def test_means_of_quarters_are_adaptive_pooling(size: tuple[int, int]) -> None:
    x = image(4, *size).requires_grad_()
    y = x.detach().clone().requires_grad_()
    means, pooled = quarter_means(x), F.adaptive_avg_pool2d(y, 2)
    torch.testing.assert_close(means, pooled)
    weights = torch.arange(pooled.numel(), dtype=pooled.dtype).view_as(pooled)
    (means * weights).sum().backward()
    (pooled * weights).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
