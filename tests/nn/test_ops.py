import copy

import pytest
import torch
from torch import nn

from dartboard.errors import NetworkError, UnknownNameError
from dartboard.nn import OPS, Blend, Op, Site, build_op
from dartboard.nn.mixture import all_live
from dartboard.nn.ops import SourceNode, Wrapped
from dartboard.space import Cell, Edge, SearchSpace, Stack
from helpers import networks

SITE = Site(4, 4)


def image(height: int = 6, width: int = 6) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 4, height, width, dtype=torch.float64)


def conv(inputs: int, outputs: int, kernel, stride=1, padding=0, **more) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False, **more)


def layer(kernel: int, stride: int, padding: int, dilation: int = 1) -> list[nn.Module]:
    depthwise = conv(4, 4, kernel, stride, padding, dilation=dilation, groups=4)
    return [nn.ReLU(), depthwise, conv(4, 4, 1), nn.BatchNorm2d(4)]


# What the papers' code runs, with the padding written out.
REFERENCES = {
    "sep_conv_3x3": lambda stride: [*layer(3, stride, 1), *layer(3, 1, 1)],
    "sep_conv_5x5": lambda stride: [*layer(5, stride, 2), *layer(5, 1, 2)],
    "sep_conv_7x7": lambda stride: [*layer(7, stride, 3), *layer(7, 1, 3)],
    "dil_conv_3x3": lambda stride: layer(3, stride, 2, 2),
    "dil_conv_5x5": lambda stride: layer(5, stride, 4, 2),
    "nor_conv_1x1": lambda stride: [nn.ReLU(), conv(4, 4, 1, stride), nn.BatchNorm2d(4)],
    "nor_conv_3x3": lambda stride: [nn.ReLU(), conv(4, 4, 3, stride, 1), nn.BatchNorm2d(4)],
    "conv_bn_relu_1x1": lambda stride: [conv(4, 4, 1, stride), nn.BatchNorm2d(4), nn.ReLU()],
    "conv_bn_relu_3x3": lambda stride: [conv(4, 4, 3, stride, 1), nn.BatchNorm2d(4), nn.ReLU()],
    "conv_7x1_1x7": lambda stride: [
        nn.ReLU(),
        conv(4, 4, (1, 7), (1, stride), (0, 3)),
        conv(4, 4, (7, 1), (stride, 1), (3, 0)),
        nn.BatchNorm2d(4),
    ],
    "max_pool_3x3": lambda stride: [nn.MaxPool2d(3, stride, 1), nn.BatchNorm2d(4)],
    "avg_pool_3x3": lambda stride: [nn.AvgPool2d(3, stride, 1, count_include_pad=False), nn.BatchNorm2d(4)],
}


def layers(module: nn.Module, kind: type[nn.Module]) -> list[nn.Module]:
    return [found for found in module.modules() if isinstance(found, kind)]


def give_weights(giver: nn.Module, taker: nn.Module) -> None:
    for kind in (nn.Conv2d, nn.BatchNorm2d):
        for own, other in zip(layers(taker, kind), layers(giver, kind), strict=True):
            own.load_state_dict(other.state_dict())


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", REFERENCES)
def test_an_op_is_its_layers_in_a_row(name, stride, training):
    op = build_op(name, Site(4, 4, stride, pool_norm=True)).double().train(training)
    reference = nn.Sequential(*REFERENCES[name](stride)).double().train(training)
    networks.randomize(reference, seed=0)
    give_weights(reference, op)
    for size in (6, 6), (7, 5):
        networks.assert_equal({"output": op(image(*size))}, {"output": reference(image(*size))}, within=1e-12)


def test_every_op_has_a_reference():
    assert set(OPS) == {*REFERENCES, "none", "skip_connect"}


def test_none_is_zero():
    assert torch.equal(build_op("none", Site(4, 6, 2))(image(5, 6)), torch.zeros(2, 6, 3, 3).double())


def test_a_skip_hands_its_input_on():
    x = image()
    assert build_op("skip_connect", SITE)(x) is x


def test_a_skip_that_changes_channels_is_a_convolution():
    op = build_op("skip_connect", Site(4, 6)).double()
    x = image()
    (found,) = layers(op, nn.Conv2d)
    expected = nn.functional.batch_norm(found(x.relu()), None, None, training=True)
    networks.assert_equal({"output": op(x)}, {"output": expected}, within=1e-12)


@pytest.mark.parametrize("size", [(6, 6), (7, 5), (2, 3)])
def test_a_skip_at_stride_2_reads_even_and_odd_pixels(size):
    """Pixels (0, 0), (2, 0), ... for one half of the channels, (1, 1), (3, 1), ... for the other."""
    op = build_op("skip_connect", Site(4, 6, 2)).double()
    x = image(*size)
    even, odd = layers(op, nn.Conv2d)
    padded = nn.functional.pad(x.relu(), (0, 1, 0, 1))  # beyond the border there is nothing to read
    pixels = padded[:, :, 1::2, 1::2][:, :, : -(-size[0] // 2), : -(-size[1] // 2)]
    halves = [even.weight.flatten(1), odd.weight.flatten(1)]
    both = [x.relu()[:, :, ::2, ::2], pixels]
    mixed = [torch.einsum("oc,bchw->bohw", half, pixel) for half, pixel in zip(halves, both, strict=True)]
    expected = nn.functional.batch_norm(torch.cat(mixed, dim=1), None, None, training=True)
    networks.assert_equal({"output": op(x)}, {"output": expected}, within=1e-9)


def test_a_skip_at_stride_2_needs_an_even_number_of_channels():
    with pytest.raises(NetworkError, match="even number of channels, not 5"):
        build_op("skip_connect", Site(4, 5, 2))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sep_conv_3x", "did you mean 'sep_conv_3x3'"),
        ("max_pool", "did you mean 'max_pool_3x3'"),
        ("?", "there are"),
    ],
)
def test_a_wrong_name_gets_a_hint(name, hint):
    with pytest.raises(UnknownNameError, match=f"no op called '{name.replace('?', '[?]')}'; {hint}"):
        build_op(name, SITE)


class Gate(nn.Module):
    """An op that a user might write: knows nothing of banks, norms or sources."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.conv = nn.Conv2d(site.inputs, site.outputs, 3, site.stride, 1)
        self.norm = nn.GroupNorm(2, site.outputs)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.norm(self.conv(x)).sigmoid()


@pytest.fixture
def gated(monkeypatch) -> SearchSpace:
    monkeypatch.setitem(OPS._values, "gate", Gate)
    ops = ("none", "gate", "skip_connect", "sep_conv_3x3")
    edges = tuple(Edge(source, target, ops) for target in (1, 2, 3) for source in range(target))
    cell = Cell(1, 4, edges, (2, 3))
    return SearchSpace("gated", (("cell", cell),), Stack(cells=1, reduce="residual", stages=2))


@pytest.mark.parametrize(
    "mixing", [networks.Mixing(), networks.Mixing(dead=True, ops="example"), networks.Mixing(attend=True)]
)
@pytest.mark.parametrize("options", [{}, {"partial": 2, "drop_path": 0.3}], ids=["whole", "partial"])
def test_a_plain_module_is_an_op_on_both_paths(gated, mixing, options):
    trial = networks.Trial(gated, mixing)
    fused, plain = (
        networks.results(networks.build(gated, mix=mix, **options), trial) for mix in ("fused", "plain")
    )
    networks.assert_equal(fused, plain, within=1e-9)
    calls = [value for name, value in plain.items() if name.startswith("buffer") and name.endswith(".calls")]
    assert sum(calls) > 0


def test_a_plain_module_is_wrapped_and_an_op_is_not(gated):
    net = networks.build(gated)
    cell = net.slots[0]
    assert isinstance(cell.edges[0]["gate"], Wrapped)
    assert isinstance(cell.edges[0]["gate"].module, Gate)
    assert not isinstance(cell.edges[0]["sep_conv_3x3"], Wrapped)


def test_copies_of_a_plain_module_each_run(gated):
    net = networks.build(gated)
    trial = networks.Trial(gated)
    net(trial.x, trial.mixture())
    gates = layers(net, Gate)
    assert [int(gate.calls) for gate in gates] == [1] * 12


def test_the_base_class_leaves_the_body_to_its_children():
    with pytest.raises(NotImplementedError):
        Op()(image())


def test_an_op_with_more_candidates_than_weights_needs_none(gated):
    """A sum without weights: every live candidate counts once."""
    net = networks.build(gated).eval()
    cell = net.slots[0]
    x = torch.randn(2, net.stem.channels, 8, 8, dtype=torch.float64)
    blend = Blend(all_live(cell.cell))
    node = cell.adapt[0](x)
    edge = sum(op(node) for op in cell.edges[0].values())
    second = sum(op(node) for op in cell.edges[1].values()) + sum(op(edge) for op in cell.edges[2].values())
    assert torch.allclose(cell([x], blend)[:, :4], second)


def test_copies_of_an_op_that_stands_alone_stay_alone():
    op = build_op("conv_7x1_1x7", Site(2, 2))
    twin = copy.deepcopy(op)
    assert op.bank is twin.bank is None
    with pytest.raises(NotImplementedError, match="no fan_out for 2 copies"):
        type(op).fan_out([op, twin], SourceNode(torch.ones(1, 2, 4, 4)))


def test_what_ops_share_is_computed_once():
    x = torch.randn(2, 3, 4, 4)
    source = SourceNode(x)
    assert source.x is x
    assert torch.equal(source.relu, x.clamp(min=0))
    assert source.relu is source.relu
    assert torch.equal(source.tiled_relu(3), x.clamp(min=0).repeat(1, 3, 1, 1))
    assert source.tiled_relu(3) is source.tiled_relu(3)
    assert source.tiled_relu(1) is source.relu
