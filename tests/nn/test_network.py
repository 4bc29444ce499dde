import copy
from dataclasses import replace
from random import Random

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap

import dartboard.nn.cell
from dartboard.errors import NetworkError, SpaceError, UnknownNameError
from dartboard.nn import ArchMixture, Blend, CellNet, NetConfig, all_live, uniform
from dartboard.nn.cell import CellModule
from dartboard.space import (
    PUBLISHED,
    Cell,
    Edge,
    SearchSpace,
    Stack,
    adopt,
    get_published,
    get_space,
    restrict,
)
from dartboard.space import sample as sample_genotype
from helpers import networks

BASE = NetConfig(channels=4, classes=5, input=(3, 8, 8))


def small(name: str = "darts", cells: int = 3) -> SearchSpace:
    return networks.shrink(get_space(name), cells)


def build(space: SearchSpace, config: NetConfig) -> CellNet:
    torch.manual_seed(0)
    return CellNet(space, config).double()


def image(channels: int = 3, height: int = 8, width: int = 8, batch: int = 2) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(batch, channels, height, width, dtype=torch.float64)


# What shows that an option is read: how networks with one and the other value differ.
def logits(net: CellNet) -> object:
    torch.manual_seed(2)
    return net(image(*net.config.input)).detach().flatten().tolist()


def shape(net: CellNet) -> object:
    return net(image(*net.config.input)).shape


def sizes(net: CellNet) -> object:
    return [tuple(parameter.shape) for parameter in net.parameters()]


OPTIONS = {
    "channels": (8, sizes),
    "classes": (7, shape),
    "input": ((1, 8, 8), sizes),
    "stem": ("half", logits),
    "auxiliary": (True, sizes),
    "drop_path": (0.5, logits),
    "partial": (2, sizes),
    "search": (True, sizes),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_matters(option):
    value, show = OPTIONS[option]
    config = replace(BASE, **{option: value})
    assert show(build(small(), config)) != show(build(small(), BASE))
    assert show(build(small(), config)) == show(build(small(), config))


def test_every_option_is_tested():
    assert {*OPTIONS, "mix"} == set(NetConfig.__dataclass_fields__)


@pytest.mark.parametrize(("mix", "ran"), [("plain", "plain_nodes"), ("fused", "fused_nodes")])
def test_the_path_is_the_one_asked_for(mix, ran, monkeypatch):
    seen = []
    for name in ("plain_nodes", "fused_nodes"):
        original = getattr(dartboard.nn.cell, name)
        monkeypatch.setattr(
            dartboard.nn.cell, name, lambda *given, f=original, name=name: seen.append(name) or f(*given)
        )
    build(small(), replace(BASE, mix=mix))(image())
    assert seen == [ran] * 3


def test_the_default_path_is_fused():
    assert NetConfig().mix == "fused"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channels": 0}, "channels must be at least 1, not 0"),
        ({"classes": -1}, "classes must be at least 1, not -1"),
        ({"partial": 0}, "partial must be at least 1, not 0"),
        ({"input": (3, 0, 32)}, "input is channels, height and width, all positive, not \\(3, 0, 32\\)"),
        ({"drop_path": 1.0}, "drop_path must be in \\[0, 1\\), not 1.0"),
        ({"drop_path": -0.1}, "drop_path must be in \\[0, 1\\), not -0.1"),
        ({"mix": "fast"}, "mix must be 'fused' or 'plain', not 'fast'"),
    ],
)
def test_wrong_numbers_are_refused(options, message):
    with pytest.raises(NetworkError, match=message):
        NetConfig(**options)


def test_a_wrong_stem_is_refused():
    with pytest.raises(UnknownNameError, match="no stem called 'smal'; did you mean 'small'"):
        CellNet(small(), replace(BASE, stem="smal"))


def test_a_wrong_op_is_refused():
    cell = Cell(1, 2, (Edge(0, 1, ("sep_conv3x3",)),), (1,))
    space = SearchSpace("own", (("cell", cell),), Stack(cells=1, reduce="pool", stages=1))
    with pytest.raises(UnknownNameError, match="no op called 'sep_conv3x3'; did you mean 'sep_conv_3x3'"):
        CellNet(space, BASE)


@pytest.mark.parametrize(
    ("name", "image", "stem", "message"),
    [
        ("darts", (3, 3, 32), "auto", "images of 3x32 .* stem 'small' and the 2 reductions .* at least 4x4"),
        ("nb201", (3, 8, 2), "auto", "images of 8x2 .* 'nb201'; use at least 4x4"),
        ("oneshot1", (3, 7, 7), "half", "images of 7x7 .* stem 'half' and the 2 reductions .* at least 8x8"),
        ("darts", (3, 31, 64), "imagenet", "stem 'imagenet' .* at least 32x32"),
    ],
)
def test_an_image_too_small_is_refused(name, image, stem, message):
    with pytest.raises(NetworkError, match=message):
        CellNet(get_space(name), NetConfig(input=image, stem=stem))


@pytest.mark.parametrize("mix", ["plain", "fused"])
@pytest.mark.parametrize("name", ["darts", "nb201", "oneshot1", "nano"])
def test_the_smallest_image_passes(name, mix):
    space = get_space(name) if name == "nano" else get_space(name).resized(3 if name == "darts" else 1)
    size = 2 ** sum(slot.stride == 2 for slot in space.slots)
    net = build(space, replace(BASE, input=(3, size, size), mix=mix))
    net(image(3, size, size)).sum().backward()


def test_partial_channels_must_divide():
    with pytest.raises(NetworkError, match="partial channels: 3 does not divide a cell's 4 channels"):
        CellNet(small(), replace(BASE, partial=3))


def test_an_auxiliary_head_must_be_there():
    with pytest.raises(NetworkError, match="no auxiliary head; build it with NetConfig\\(auxiliary=True\\)"):
        build(small(), BASE)(image(), auxiliary=True)


@pytest.mark.parametrize("mix", ["plain", "fused"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(8, 8), (9, 9), (7, 12), (5, 5)])
def test_any_image(size, channels, mix):
    net = build(small(), replace(BASE, input=(channels, *size), mix=mix, auxiliary=True))
    found, auxiliary = net(image(channels, *size), auxiliary=True)
    assert found.shape == auxiliary.shape == (2, 5)
    (found.sum() + auxiliary.sum()).backward()


def test_the_stem_follows_the_size_of_the_images():
    sizes = {32: "small", 64: "small", 127: "small", 128: "imagenet", 224: "imagenet"}
    for size, stem in sizes.items():
        assert NetConfig(input=(3, size, size)).stem_name == stem
    assert NetConfig(input=(3, 224, 224), stem="half").stem_name == "half"
    assert NetConfig(input=(3, 64, 224)).stem_name == "small"


@pytest.mark.parametrize(
    ("stem", "size", "expected"),
    [
        ("imagenet", 224, [28, 28, 14, 14, 7, 7, 7]),
        ("half", 64, [32, 32, 16, 16, 8, 8, 8]),
        ("small", 32, [32, 32, 16, 16, 8, 8, 8]),
    ],
)
def test_sizes_through_the_stack(stem, size, expected):
    """Seven cells: the third and the fifth halve."""
    space = restrict(get_space("darts"), sample_genotype(get_space("darts"), Random(0))).resized(7)
    seen = []
    with torch.device("meta"):
        net = CellNet(space, NetConfig(channels=8, input=(3, size, size), stem=stem, auxiliary=True))
        for module in net.slots:
            module.register_forward_hook(lambda _module, _given, output: seen.append(output.shape[2]))
        found, auxiliary = net(torch.empty(2, 3, size, size), auxiliary=True)
    assert seen == expected
    assert found.shape == auxiliary.shape == (2, 10)
    assert [module.feature_info.scale * output for module, output in zip(net.slots, seen, strict=True)] == [
        size
    ] * 7


@pytest.mark.parametrize("mix", ["plain", "fused"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_cells_run_forward_and_backward(name, mix):
    space = adopt(get_space("darts").resized(3), get_published(name))
    net = build(space, replace(BASE, auxiliary=True, drop_path=0.1, mix=mix))
    found, auxiliary = net(image(batch=4), auxiliary=True)
    (F.cross_entropy(found, torch.arange(4)) + F.cross_entropy(auxiliary, torch.arange(4))).backward()
    assert found.shape == auxiliary.shape == (4, 5)
    assert found.isfinite().all()
    assert net.stem.stages[0][0].weight.grad.abs().sum() > 0


def test_published_cells_are_the_same_on_both_paths():
    for name in ("nasnet-a", "amoebanet-a", "pnas"):  # five nodes, parallel edges, 7x7 kernels
        space = adopt(get_space("darts").resized(3), get_published(name))
        trial = networks.Trial(space, networks.Mixing(ops="none"))
        fused, plain = (
            networks.results(networks.build(space, mix=mix, search=False), trial)
            for mix in ("fused", "plain")
        )
        networks.assert_equal(fused, plain, within=1e-9)


def test_the_auxiliary_head_reads_two_thirds_up_the_stack():
    net = build(get_space("darts").resized(6), replace(BASE, auxiliary=True)).eval()
    seen = []
    net.slots[4].register_forward_hook(lambda _module, _given, output: seen.append(output))
    _, auxiliary = net(image(), auxiliary=True)
    torch.testing.assert_close(auxiliary, net.auxiliary(seen[0]))


def test_the_auxiliary_head_does_not_change_the_logits():
    net = build(small(), replace(BASE, auxiliary=True)).eval()
    torch.testing.assert_close(net(image(), auxiliary=True)[0], net(image()))


def test_no_mixture_is_the_uniform_one():
    space = small("oneshot1")
    net = build(space, BASE).eval()
    torch.testing.assert_close(net(image()), net(image(), uniform(space, like=image())))


def test_the_stack_decides_about_the_relu_after_the_stem():
    space = small("oneshot1")
    assert space.stack.stem_relu
    other = replace(space, stack=replace(space.stack, stem_relu=False))
    assert not torch.allclose(build(space, BASE)(image()), build(other, BASE)(image()))


def test_the_stack_decides_about_norms_in_a_search():
    for name, expected in (("darts", True), ("nb201", False)):
        net = build(small(name), replace(BASE, search=True))
        assert (net.slots[0].edges[0]["avg_pool_3x3"].norm is not None) == expected
        assert build(small(name), BASE).slots[0].edges[0]["avg_pool_3x3"].norm is None


def test_the_stack_decides_about_the_norm_before_the_classifier():
    assert build(small("nb201"), BASE).head.norm is not None
    assert build(small("darts"), BASE).head.norm is None


def test_drop_path_can_be_scheduled():
    net = build(small(), replace(BASE, drop_path=0.5))
    torch.manual_seed(0)
    dropped = net(image())
    net.drop_path = 0.0
    torch.testing.assert_close(net(image()), build(small(), BASE)(image()))
    assert not torch.allclose(dropped, net(image()))


def test_both_paths_have_the_same_parameters():
    plain, fused = (build(small(), replace(BASE, mix=mix)) for mix in ("plain", "fused"))
    assert list(plain.state_dict()) == list(fused.state_dict())
    plain.load_state_dict(fused.state_dict())


def test_a_copy_computes_the_same_and_stands_alone():
    net = build(small(), BASE)
    twin = copy.deepcopy(net)
    torch.testing.assert_close(twin(image()), net(image()))
    twin(image())
    steps = [module.stem.stages[0][1].num_batches_tracked.item() for module in (net, twin)]
    assert steps == [1, 2]


def test_unshared_cells_cannot_be_repeated():
    with pytest.raises(SpaceError, match="it cannot have 4"):
        get_space("s2").resized(4)


@pytest.mark.parametrize("mix", ["plain", "fused"])
@pytest.mark.parametrize("name", ["darts", "nb201", "oneshot1"])
def test_gradients_for_each_example_at_once(name, mix):
    space = small(name)
    net = build(restrict(space, sample_genotype(space, Random(0))), replace(BASE, mix=mix)).eval()
    labels = torch.tensor([0, 1, 2])
    given = {key: value.detach() for key, value in networks.tensors(net).items()}
    weights = {key: given.pop(key) for key, _ in net.named_parameters()}

    def loss(weights, x, label):
        return F.cross_entropy(functional_call(net, (weights, given), (x[None],)), label[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, image(batch=3), labels)
    for index, x in enumerate(image(batch=3)):
        net.zero_grad()
        F.cross_entropy(net(x[None]), labels[index : index + 1]).backward()
        expected = {key: value.grad for key, value in net.named_parameters()}
        networks.assert_equal({key: value[index] for key, value in found.items()}, expected, within=1e-9)


def test_slots_without_an_arch_are_blocks():
    net = build(small("nb201"), BASE)
    assert [isinstance(module, CellModule) for module in net.slots] == [True, False, True]


@pytest.mark.parametrize("probability", [-0.1, 1.0, float("nan")])
def test_drop_path_is_checked_when_it_is_set(probability):
    net = build(small("nano"), BASE)
    with pytest.raises(NetworkError, match="drop_path must be in"):
        net.drop_path = probability
    net.drop_path = 0.25
    assert net.drop_path == 0.25


@pytest.mark.parametrize("wrong", [{"input": (32, 32)}, {"channels": 2.5}, {"classes": "ten"}])
def test_sizes_are_whole_numbers(wrong):
    with pytest.raises(NetworkError):
        NetConfig(**wrong)


def test_the_imagenet_stem_needs_two_channels():
    with pytest.raises(NetworkError, match="at least 2 channels"):
        CellNet(get_space("nb201"), NetConfig(channels=1, input=(3, 128, 128)))


LIVE = ((1, 2, 5), (0, 3), (2, 3, 4))


def without_weight(space, live, every):
    """Weights that are zero for all candidates but the live ones, over all candidates or those alone."""
    cell = space.cells["cell"]
    weights = torch.zeros(cell.shape, dtype=torch.float64)
    for row, places in zip(weights, live, strict=True):
        row[list(places)] = torch.rand(
            len(places), dtype=torch.float64, generator=torch.Generator().manual_seed(4)
        )
    return ArchMixture(space, {"cell": Blend(all_live(cell) if every else live, weights)})


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("mix", ["plain", "fused"])
def test_candidates_without_weight_can_go_and_nothing_else_changes(mix, training):
    """Loss, logits and the slopes of all that stays are the same; statistics too, in training."""
    space = small("nano")
    whole = networks.build(space, mix=mix).train(training)
    bare = copy.deepcopy(whole)
    gone = bare.prune({"cell": LIVE})
    assert gone
    found = []
    for net, every in ((whole, True), (bare, False)):
        logits = net(image(), without_weight(space, LIVE, every))
        F.cross_entropy(logits, torch.tensor([0, 1])).backward()
        found.append(logits)
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-12)
    slopes, values = dict(whole.named_parameters()), whole.state_dict()
    assert len(slopes) == len(dict(bare.named_parameters())) + len(gone)
    for name, parameter in bare.named_parameters():
        torch.testing.assert_close(parameter.grad, slopes[name].grad, rtol=1e-10, atol=1e-12)
    for name, value in bare.state_dict().items():
        torch.testing.assert_close(value, values[name])


def test_pruned_candidates_are_not_in_the_state():
    space = small("nano")
    net, other = networks.build(space), networks.build(space, seed=1)
    net.prune({"cell": LIVE})
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict(net.state_dict())
    other.prune({"cell": LIVE})
    other.load_state_dict(net.state_dict())
    mixture = without_weight(space, LIVE, False)
    assert torch.equal(other.eval()(image(), mixture), net.eval()(image(), mixture))


def test_every_slot_loses_what_its_arch_loses():
    space = small("darts")
    net = networks.build(space)
    kept = tuple((3,) for _ in range(14))
    net.prune({"normal": kept, "reduce": all_live(space.cells["reduce"])})
    left = [{len(ops) for ops in module.edges} for module in net.slots]
    assert left == [{1}, {8}, {1}]
