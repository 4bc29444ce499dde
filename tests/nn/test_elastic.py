"""Choices of widths and kernels: layers with several sizes give the blend of their slices."""

from random import Random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn import Blend, ChoiceNet, KernelChoice, WidthChoice, elastic
from dartboard.nn.mixture import SlotMixture
from dartboard.relax.attention import Attention
from dartboard.relax.categorical import simplex, softmax
from dartboard.space.genotype import enumerate_genotypes, sample


class Images(nn.Module):
    """A network of images whose widths and kernels are free."""

    def __init__(self) -> None:
        super().__init__()
        self.width, wide, kernel = WidthChoice([2, 4, 6]), WidthChoice([3, 5]), KernelChoice([1, 3, 5])
        self.features = nn.Sequential(
            elastic.Conv2d(3, self.width, kernel, bias=False),
            elastic.BatchNorm2d(self.width),
            nn.Sigmoid(),
            elastic.Conv2d(self.width, self.width, kernel, stride=2, groups="depthwise"),
            elastic.Conv2d(self.width, wide, 1),
        )
        self.norm, self.head = elastic.LayerNorm(wide), elastic.Linear(wide, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x).mean((2, 3))
        return self.head(self.norm(x)) * int(self.width)


class Words(nn.Module):
    """A network of words whose embedding is free."""

    def __init__(self) -> None:
        super().__init__()
        width = WidthChoice([2, 4])
        self.layers = nn.Sequential(
            elastic.Embedding(7, width), elastic.LayerNorm(width), elastic.Linear(width, 3)
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).mean(1)


def net_and_batch(model: type[nn.Module]) -> tuple[ChoiceNet, Tensor]:
    torch.manual_seed(0)
    net = ChoiceNet(model()).double()
    words = torch.randint(7, (5, 4))
    return net, words if model is Words else torch.randn(5, 3, 8, 8, dtype=torch.float64)


@pytest.mark.parametrize("model", [Images, Words])
@pytest.mark.parametrize("train", [True, False])
def test_the_discrete_network_is_the_supernet_under_the_one_hot_mixture(model, train):
    net, x = net_and_batch(model)
    net(x, softmax(net.space).double()())
    for genotype in enumerate_genotypes(net.space):
        plain = net.network(genotype).train(train)
        assert not [m for m in plain.modules() if type(m).__module__.startswith("dartboard")]
        net.train(train)
        before = {name: value.clone() for name, value in net.state_dict().items()}
        assert torch.equal(plain(x), net.discrete(x, genotype))
        if train:
            after = net.network(genotype)
            assert all(
                torch.equal(value, after.state_dict()[name]) for name, value in plain.state_dict().items()
            )
        net.load_state_dict(before)


def test_only_as_much_as_the_largest_size_is_computed():
    net, x = net_and_batch(Images)
    seen = []
    net.model.features[1].register_forward_hook(lambda _module, args, _out: seen.append(args[0].shape[1]))
    for genotype in enumerate_genotypes(net.space):
        net.discrete(x, genotype)
        assert seen.pop() == int(genotype.cells["width"].edges[0].ops[0])


def blended(layer: nn.Module, weights: Tensor, choice) -> ChoiceNet:
    """A layer that blends its sizes by weights [N] or [B, N]."""
    net = ChoiceNet(layer)
    assert len(net.space.slots) == 1
    live = (tuple(range(len(choice.values))),)
    return lambda x: net(x, SlotMixture({0: Blend(live, weights.unsqueeze(-2))}))


def pad_channels(y: Tensor, channels: int) -> Tensor:
    return torch.cat([y, y.new_zeros(len(y), channels - y.shape[1], *y.shape[2:])], dim=1)


WEIGHTS = [torch.tensor([0.2, 0.5, 0.3]), torch.rand(4, 3, generator=torch.Generator().manual_seed(0))]


def scaled(y: Tensor, weight: Tensor) -> Tensor:
    return y * weight.view(-1, *[1] * (y.dim() - 1)) if weight.dim() else y * weight


@pytest.mark.parametrize("weights", WEIGHTS, ids=["one", "per-example"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolutions_blend_slices_of_channels_and_of_kernels(weights, dims):
    torch.manual_seed(1)
    make = {1: elastic.Conv1d, 2: elastic.Conv2d, 3: elastic.Conv3d}[dims]
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[dims]
    x = torch.randn(4, 2, *[6] * dims)
    width = WidthChoice([1, 3, 4])
    layer = make(2, width, 3, stride=2)
    expected = sum(
        scaled(pad_channels(convolve(x, layer.weight[:w], layer.bias[:w], 2, 1), 4), weights[..., place])
        for place, w in enumerate(width.values)
    )
    torch.testing.assert_close(blended(layer, weights, width)(x), expected)
    kernel = KernelChoice([1, 3, 5])
    layer = make(2, 3, kernel, dilation=2)
    expected = 0
    for place, size in enumerate(kernel.values):
        middle = (..., *[slice(2 - size // 2, 3 + size // 2)] * dims)
        y = convolve(x, layer.weight[middle], layer.bias, 1, size - 1, 2)
        expected = expected + scaled(y, weights[..., place])
    torch.testing.assert_close(blended(layer, weights, kernel)(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weights", WEIGHTS, ids=["one", "per-example"])
@pytest.mark.parametrize("train", [True, False])
def test_norms_blend_widths_with_statistics_of_their_own(weights, train):
    torch.manual_seed(1)
    width, x = WidthChoice([2, 3, 5]), torch.randn(4, 5, 3, 3)
    norm = elastic.BatchNorm2d(width)
    with torch.no_grad():
        for values in (norm.weight, norm.bias, norm.running_mean):
            values.normal_()
        norm.running_var.uniform_(0.5, 2)
    expected, after = 0, []
    for place, w in enumerate(width.values):
        single = nn.BatchNorm2d(w).train(train)
        single.load_state_dict(norm.decided(lambda _, w=w: w).state_dict())
        expected = expected + scaled(pad_channels(single(x[:, :w]), 5), weights[..., place])
        after.append(single)
    net = blended(norm.train(train), weights, width)
    found = net(x)
    torch.testing.assert_close(found, expected)
    inner = next(cell.cell_contents for cell in net.__closure__ if isinstance(cell.cell_contents, ChoiceNet))
    for w, single in zip(width.values, after, strict=True):
        torch.testing.assert_close(inner.model.decided(lambda _, w=w: w).state_dict(), single.state_dict())


@pytest.mark.parametrize("weights", WEIGHTS, ids=["one", "per-example"])
def test_layer_norms_linear_layers_and_embeddings_blend_widths(weights):
    torch.manual_seed(1)
    width, x = WidthChoice([2, 3, 5]), torch.randn(4, 7, 5)
    norm, linear, embedding = elastic.LayerNorm(width), elastic.Linear(5, width), elastic.Embedding(9, width)
    words = torch.randint(9, (4, 7))
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    cases = [
        (norm, x, lambda w: F.layer_norm(x[..., :w], (w,), norm.weight[:w], norm.bias[:w])),
        (linear, x, lambda w: F.linear(x, linear.weight[:w], linear.bias[:w])),
        (embedding, words, lambda w: F.embedding(words, embedding.weight[:, :w])),
    ]
    for layer, given, slice_of in cases:
        expected = sum(
            scaled(F.pad(slice_of(w), (0, 5 - w)), weights[..., place])
            for place, w in enumerate(width.values)
        )
        torch.testing.assert_close(blended(layer, weights, width)(given), expected)


@pytest.mark.parametrize("model", [Images, Words])
def test_relaxations_have_gradients_of_sizes(model):
    net, x = net_and_batch(model)
    for relaxation in (simplex(net.space).double(), softmax(net.space).double()):
        net(x, relaxation()).square().sum().backward()
        assert all(p.grad.abs().sum() > 0 for p in relaxation.arch_parameters())
        feedback = relaxation.per_example(len(x))
        grads = torch.autograd.grad(net(x, feedback).square().sum(), feedback.leaves())
        assert all(grad.isfinite().all() and grad.abs().sum() > 0 for grad in grads)
    attention = Attention(net.space, init="random").double()
    net(x, attention()).square().sum().backward()
    assert any(p.grad.abs().sum() > 0 for p in attention.weight_parameters() if p.grad is not None)


def test_the_number_takes_the_place_of_the_choice():
    net, _ = net_and_batch(Images)
    genotype = sample(net.space, Random(2))
    plain = net.network(genotype)
    assert plain.width == int(genotype.cells["width"].edges[0].ops[0])
    assert isinstance(plain.features[0], nn.Conv2d)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WidthChoice([3]), r"two positive numbers or more, not \[3\]"),
        (lambda: WidthChoice([0, 3]), r"two positive numbers or more, not \[0, 3\]"),
        (lambda: KernelChoice([2, 3]), "sizes are odd"),
        (lambda: elastic.Conv2d(3, 4, 3, groups=2), "groups are 1 or 'depthwise'"),
        (lambda: elastic.Conv2d(3, WidthChoice([3, 4]), 3, groups="depthwise"), "give one width twice"),
        (
            lambda: elastic.Conv2d(3, 4, KernelChoice([1, 5]), padding=1),
            "padding of 1 is too small.*at least 2",
        ),
    ],
)
def test_sizes_that_cannot_be_are_refused(make, message):
    with pytest.raises(NetworkError, match=message):
        make()
