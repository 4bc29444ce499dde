from dataclasses import replace
from random import Random

import pytest
import torch
from torch import nn

from dartboard.errors import NetworkError
from dartboard.nn import OPS, CellNet, Site, one_hot
from dartboard.nn.inherit import inherit
from dartboard.space import (
    Cell,
    Contest,
    Edge,
    Genotype,
    SearchSpace,
    Stack,
    adopt,
    get_published,
    get_space,
    restrict,
    sample,
)
from helpers import networks


def small(name: str) -> SearchSpace:
    return networks.shrink(get_space(name))


def chosen(space: SearchSpace, seed: int = 0) -> Genotype:
    return sample(space, Random(seed))


def image(batch: int = 3) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(batch, 3, 8, 8, dtype=torch.float64)


def check(net: CellNet, supernet: CellNet, genotype: Genotype) -> None:
    inherit(net, supernet)
    expected = supernet.eval()(image(), one_hot(supernet.space, genotype, like=image()))
    networks.assert_equal({"logits": net.eval()(image())}, {"logits": expected}, within=1e-9)


def test_all_weights_and_buffers_come_from_the_supernet():
    space = small("darts")
    genotype, supernet = chosen(space), networks.build(space)
    net = networks.build(restrict(space, genotype), seed=1)
    inherit(net, supernet)
    theirs = networks.tensors(supernet)
    for slot, module in enumerate(net.slots):
        whole = supernet.slots[slot].cell.edges
        for index, edge in enumerate(module.cell.edges):
            place = next(i for i, e in enumerate(whole) if (e.source, e.target) == (edge.source, edge.target))
            for name, value in networks.tensors(module.edges[index]).items():
                assert torch.equal(value, theirs[f"slots.{slot}.edges.{place}.{name}"])
    for name, value in networks.tensors(net).items():
        if ".edges." not in name:
            assert torch.equal(value, theirs[name])


def test_the_supernet_and_later_steps_of_the_network_are_apart():
    space = small("nano")
    supernet, net = networks.build(space), networks.build(restrict(space, chosen(space)), seed=1)
    before = {name: value.detach().clone() for name, value in networks.tensors(supernet).items()}
    inherit(net, supernet)
    with torch.no_grad():
        for value in networks.tensors(net).values():
            value.add_(1)
    networks.assert_equal(networks.tensors(supernet), before, within=0.0)
    assert all(parameter.requires_grad for parameter in net.parameters())


@pytest.mark.parametrize("name", ["oneshot1", "oneshot3"])
def test_what_reads_a_concatenation_keeps_the_blocks_that_stay(name):
    """The consumers are 1x1 convolutions on input edges, the classifier and the auxiliary head."""
    space = small(name)
    supernet = networks.build(space, auxiliary=True)
    for seed in range(4):
        genotype = chosen(space, seed)
        net = networks.build(restrict(space, genotype), seed=1, auxiliary=True)
        assert net.head.linear.in_features < supernet.head.linear.in_features
        check(net, supernet, genotype)
        _, expected = supernet(image(), one_hot(space, genotype, like=image()), auxiliary=True)
        _, found = net(image(), auxiliary=True)
        networks.assert_equal({"auxiliary": found}, {"auxiliary": expected}, within=1e-9)


def concatenating(stack: Stack, **options) -> SearchSpace:
    """A cell whose last node concatenates two of three edges."""
    space = networks.shrink(get_space("oneshot1"))
    cell = replace(space.cells["cell"], **options)
    groups = dict.fromkeys(slot.group for slot in stack.slots() if slot.group)
    return SearchSpace("own", tuple((arch, cell) for arch in groups), stack)


@pytest.mark.parametrize(
    "options", [{"adapt": True}, {"adapt": True, "project": True}], ids=["adapt", "project"]
)
@pytest.mark.parametrize("reduce", ["cell", "residual", "pool"])
def test_adapters_projections_and_reductions_read_the_blocks_that_stay(reduce, options):
    space = concatenating(Stack(cells=3 if reduce == "cell" else 2, reduce=reduce, stages=2), **options)
    supernet = networks.build(space)
    for seed in range(3):
        genotype = chosen(space, seed)
        check(networks.build(restrict(space, genotype), seed=1), supernet, genotype)


def test_an_output_of_several_nodes_keeps_the_blocks_that_stay():
    """The first of two output nodes has lost an edge, so that the second comes earlier."""
    conv = ("nor_conv_1x1", "nor_conv_3x3")
    edges = (Edge(0, 1, conv), Edge(0, 1, conv), Edge(0, 2, conv))
    cell = Cell(1, 3, edges, (1, 2), (Contest((0, 1), 1),), concat=(1,))
    space = SearchSpace("own", (("cell", cell),), Stack(cells=2, reduce="pool", stages=1))
    net = networks.build(
        replace(space, groups=(("cell", replace(cell, edges=edges[1:], contests=())),)), seed=1
    )
    supernet = networks.build(space)
    inherit(net, supernet)
    weight = supernet.head.linear.weight
    assert torch.equal(net.head.linear.weight, torch.cat([weight[:, :4], weight[:, 8:]], dim=1))


def test_a_norm_before_the_classifier_keeps_the_blocks_that_stay():
    space = concatenating(Stack(cells=1, reduce="pool", stages=1, head_norm=True))
    supernet, net = networks.build(space), networks.build(restrict(space, chosen(space)), seed=1)
    inherit(net, supernet)
    kept = net.head.norm.weight
    assert len(kept) < len(supernet.head.norm.weight)
    places = [int((supernet.head.norm.weight == value).nonzero()) for value in kept]
    assert torch.equal(net.head.linear.weight, supernet.head.linear.weight[:, places])
    for name in ("bias", "running_mean", "running_var"):
        assert torch.equal(getattr(net.head.norm, name), getattr(supernet.head.norm, name)[places])


def test_scales_and_shifts_that_only_the_network_has_stay():
    space = small("darts")
    supernet = networks.build(space, search=True)
    net = networks.build(restrict(space, chosen(space)), search=False, seed=1)
    own = {name: value.detach().clone() for name, value in networks.tensors(net).items()}
    inherit(net, supernet)
    theirs = {
        name.rpartition(".")[2]
        for name, value in networks.tensors(net).items()
        if not torch.equal(value, own[name])
    }
    assert {"weight", "running_mean"} <= theirs
    norms = [(name, module) for name, module in net.slots.named_modules() if networks.is_norm(module)]
    for name, norm in norms:
        assert torch.equal(norm.weight, own[f"slots.{name}.weight"])
        assert torch.equal(norm.bias, own[f"slots.{name}.bias"])


def test_scales_and_shifts_that_only_the_supernet_has_are_left_behind():
    space = small("darts")
    net = networks.build(restrict(space, chosen(space)), search=True, seed=1)
    inherit(net, networks.build(space, search=False))
    assert torch.equal(
        net.slots[0].adapt[0].conv.weight, networks.build(space, search=False).slots[0].adapt[0].conv.weight
    )


def test_an_auxiliary_head_that_only_one_has_stays():
    space = small("nano")
    net = networks.build(restrict(space, chosen(space)), auxiliary=True, seed=1)
    before = net.auxiliary.linear.weight.clone()
    inherit(net, networks.build(space))
    assert torch.equal(net.auxiliary.linear.weight, before)
    inherit(net, networks.build(space, auxiliary=True, seed=2))
    assert not torch.equal(net.auxiliary.linear.weight, before)
    inherit(networks.build(restrict(space, chosen(space))), networks.build(space, auxiliary=True))


def test_a_space_with_fewer_candidates_takes_what_it_has():
    space = small("nb201")
    fewer, supernet = (
        networks.build(space.without("none").without("nor_conv_3x3"), seed=1),
        networks.build(space),
    )
    inherit(fewer, supernet)
    for slot in (0, 2):
        for own, whole in zip(fewer.slots[slot].edges, supernet.slots[slot].edges, strict=True):
            assert torch.equal(own["nor_conv_1x1"].conv.weight, whole["nor_conv_1x1"].conv.weight)


def test_a_published_cell_takes_the_weights_of_its_space():
    space = get_space("darts").resized(3)
    genotype, supernet = get_published("darts-v2"), networks.build(space)
    check(
        networks.build(adopt(space, genotype), seed=1), supernet, genotype
    )  # edges as written, not in order


DIFFERENT = {
    "channels": {"channels": 8},
    "classes": {"classes": 6},
    "partial": {"partial": 2},
    "stem_name": {"stem": "half"},
}


@pytest.mark.parametrize("option", DIFFERENT)
def test_networks_built_differently_are_refused(option):
    space = small("nano")
    net = networks.build(restrict(space, chosen(space)), **DIFFERENT[option])
    with pytest.raises(
        NetworkError, match=f"the networks do not fit: {option} is .*, and .* in the supernet"
    ):
        inherit(net, networks.build(space))


def test_images_with_other_channels_are_refused():
    space = small("nano")
    with pytest.raises(NetworkError, match="images are of 1 channels, and of 3 in the supernet"):
        inherit(networks.build(restrict(space, chosen(space)), input=(1, 8, 8)), networks.build(space))


def test_images_of_another_size_will_do():
    space = small("nano")
    inherit(networks.build(restrict(space, chosen(space)), input=(3, 16, 12)), networks.build(space))


def test_another_stack_is_refused():
    space = small("darts")
    longer = restrict(space, chosen(space)).resized(5)
    with pytest.raises(NetworkError, match="the spaces 'darts' and 'darts' stack their cells differently"):
        inherit(networks.build(longer), networks.build(space))


def test_another_kind_of_cell_is_refused():
    space = small("nano")
    (cell,) = space.cells.values()
    other = replace(space, groups=(("cell", replace(cell, project=True)),))
    with pytest.raises(NetworkError, match="in slot 0: project is True, and False in the supernet"):
        inherit(networks.build(other), networks.build(space))


def test_a_refusal_changes_nothing():
    space = small("nano")
    (cell,) = space.cells.values()
    other = replace(cell, edges=tuple(replace(edge, ops=(*edge.ops, "max_pool_3x3")) for edge in cell.edges))
    net = networks.build(replace(space, groups=(("cell", other),)), seed=1)
    before = {name: value.detach().clone() for name, value in networks.tensors(net).items()}
    with pytest.raises(NetworkError, match=r"slot 0: the supernet has no edge 0 -> 1 .*max_pool_3x3"):
        inherit(net, networks.build(space))
    networks.assert_equal(networks.tensors(net), before, within=0.0)


def test_edges_that_are_concatenated_keep_their_order():
    space = small("oneshot1")
    discrete = restrict(space, chosen(space))
    (cell,) = discrete.cells.values()
    turned = replace(cell, edges=cell.edges[::-1])
    with pytest.raises(NetworkError, match="enter node 9 come in another order"):
        inherit(networks.build(replace(discrete, groups=(("cell", turned),))), networks.build(space))


def reading(op: str, *, joined: bool = True) -> tuple[SearchSpace, SearchSpace]:
    """A space in which `op` reads a concatenation of two edges, and the same with one of them."""
    skips = (Edge(0, 1, ("skip_connect",)), Edge(0, 1, ("nor_conv_1x1",)))
    cell = Cell(1, 3, (*skips, Edge(1, 2, (op,))), (2,), joins=(1,) if joined else (), concat=(1,))
    stack = Stack(cells=1, reduce="pool", stages=1)
    fewer = replace(cell, edges=cell.edges[1:])
    return SearchSpace("whole", (("cell", cell),), stack), SearchSpace("fewer", (("cell", fewer),), stack)


def test_a_convolution_in_the_cell_keeps_the_blocks_that_stay():
    whole, fewer = reading("nor_conv_3x3")
    supernet, net = networks.build(whole), networks.build(fewer, seed=1)
    inherit(net, supernet)
    weight = supernet.slots[0].edges[2]["nor_conv_3x3"].conv.weight
    assert torch.equal(net.slots[0].edges[1]["nor_conv_3x3"].conv.weight, weight[:, 4:])


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (
            "sep_conv_3x3",
            r"sep_conv_3x3 on edge 1 -> 2: .* has the shape \[4, 1, 3, 3\], and \[8, 1, 3, 3\]",
        ),
        (
            "skip_connect",
            "skip_connect on edge 1 -> 2: it is Identity here, and ReLUConvNorm in the supernet",
        ),
    ],
)
def test_an_op_that_cannot_be_cut_down_is_refused(op, message):
    whole, fewer = reading(op)
    with pytest.raises(NetworkError, match=message):
        inherit(networks.build(fewer), networks.build(whole))


class Moody(nn.Module):
    """An op whose parameters depend on more than its place."""

    names = iter(["first", "second"])

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.register_parameter(next(self.names), nn.Parameter(torch.zeros(site.outputs)))

    def forward(self, x):
        return x


def test_parameters_that_only_one_has_are_refused(monkeypatch):
    monkeypatch.setitem(OPS._values, "moody", Moody)
    cell = Cell(1, 2, (Edge(0, 1, ("moody",)),), (1,))
    space = SearchSpace("own", (("cell", cell),), Stack(cells=1, reduce="pool", stages=1))
    with pytest.raises(NetworkError, match="moody on edge 0 -> 1: only one of the networks has module"):
        inherit(networks.build(space), networks.build(space))
