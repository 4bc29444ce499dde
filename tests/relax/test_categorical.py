import pytest
import torch
import torch.nn.functional as F

import lab
from dartboard.errors import CompositionError, RelaxationError, UnknownNameError
from dartboard.relax import Attention, RandomArchitecture, simplex, softmax
from dartboard.space import NONE, Cell, Edge, SearchSpace, get_space

MAKERS = {"softmax": softmax, "simplex": simplex}


def spread_out(relaxation):
    """The relaxation in float64, with weights far from equal."""
    generator = torch.Generator().manual_seed(1)
    for cell in relaxation.double().cells.values():
        for values, mask in (cell.ops, cell.candidates.mask), (cell.edges, getattr(cell, "group_mask", None)):
            if values is not None:
                drawn = torch.rand(values.shape, generator=generator, dtype=torch.float64) + 0.1
                values.data = cell.form.settle(drawn, mask)
    return relaxation


def loss_of(net, mixture, *, batch=3):
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(batch, *net.config.input, generator=generator, dtype=torch.float64)
    return F.cross_entropy(net(x, mixture), torch.arange(batch) % 5)


def watch(module):
    """The candidates of a cell that run from now on, as (edge, op)."""
    ran = set()
    for edge, ops in enumerate(module.edges):
        for name, op in ops.items():
            op.register_forward_hook(lambda *_, who=(edge, name): ran.add(who))
    return ran


@pytest.mark.parametrize("name", ["darts", "nb201", "oneshot2", "s2"])
def test_parameters_have_the_shape_of_the_cells(name):
    space = get_space(name)
    for arch, cell in softmax(space).named_cells():
        edges = space.cells[arch].edges
        assert cell.ops.shape == (len(edges), max(len(edge.ops) for edge in edges))
        assert (cell.edges is None) == (name != "oneshot2")


def test_a_generator_draws_small_logits(generator):
    drawn = torch.cat(
        [values.flatten() for values in softmax(get_space("asm"), generator=generator).parameters()]
    ).detach()
    assert drawn.std().item() == pytest.approx(1e-3, rel=0.05)
    assert drawn.mean().abs() < 1e-4
    assert all(
        torch.equal(values, torch.zeros_like(values)) for values in softmax(get_space("asm")).parameters()
    )


def test_padding_starts_at_zero(ragged, generator):
    cell = softmax(ragged, edge_weights=True, generator=generator).cells["cell"]
    assert torch.equal(cell.ops != 0, cell.candidates.mask)
    assert torch.equal(cell.edges != 0, cell.group_mask)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_the_weights_of_ragged_edges(ragged, make):
    blend = spread_out(make(ragged))().blend(0)
    assert blend.edges is None
    assert [len(places) for places in blend.live] == [3, 1, 2, 2, 1, 3]
    assert blend.ops[1].tolist() == blend.ops[4].tolist() == [1, 0, 0]
    assert torch.allclose(blend.ops.sum(-1), torch.ones(6, dtype=torch.float64))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_edges_that_compete_share_a_weight_of_one(ragged, make):
    edges = spread_out(make(ragged, edge_weights=True))().blend(0).edges
    assert edges[0] == 1
    assert edges[1:3].sum().item() == pytest.approx(1)
    assert edges[3:].sum().item() == pytest.approx(1)
    assert len(set(edges.tolist())) == 6


def test_edge_weights_without_edges_to_weigh():
    cell = Cell(1, 2, (Edge(0, 1, (NONE, "skip_connect")),), (1,), adapt=False)
    space = SearchSpace("chain", (("cell", cell),), get_space("nano").stack)
    with pytest.raises(CompositionError, match="no two edges enter the same node"):
        softmax(space, edge_weights=True)


@pytest.mark.parametrize("edge_weights", [False, True])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_gradients_agree_with_finite_differences(ragged, make, edge_weights):
    net = lab.build(ragged).eval()
    relaxation = spread_out(make(ragged, edge_weights=edge_weights))
    names = [name for name, _ in relaxation.named_parameters()]

    def loss(*values):
        mixture = torch.func.functional_call(relaxation, dict(zip(names, values, strict=True)), ())
        return loss_of(net, mixture)

    assert torch.autograd.gradcheck(loss, tuple(relaxation.arch_parameters()))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_dead_candidate_is_never_computed_and_the_others_share_its_weight(ragged, make):
    net, relaxation = lab.build(ragged, mix="plain"), spread_out(make(ragged))
    before = relaxation.strengths()["cell"].ops
    relaxation.kill("cell", 0, 2)
    after = relaxation.strengths()["cell"].ops
    assert after[0, 2] == 0
    assert torch.allclose(after[0, :2], before[0, :2] / before[0, :2].sum())
    assert torch.equal(after[1:], before[1:])
    ran = watch(net.slots[0])
    loss_of(net, relaxation()).backward()
    assert (0, "skip_connect") in ran
    assert (0, "nor_conv_1x1") not in ran
    assert (5, "nor_conv_1x1") in ran
    assert relaxation.cells["cell"].ops.grad[0, 2] == 0
    assert all(weight.grad is None for weight in net.slots[0].edges[0]["nor_conv_1x1"].parameters())


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_edge_with_one_candidate_left_is_decided(ragged, make):
    relaxation = spread_out(make(ragged))
    relaxation.keep("cell", 5, 1)
    assert relaxation.live("cell")[5] == (1,)
    assert relaxation.strengths()["cell"].ops[5].tolist() == [0, 1, 0]
    relaxation().blend(0).ops.square().sum().backward()
    assert relaxation.cells["cell"].ops.grad[5].tolist() == [0, 0, 0]


def test_only_what_is_there_can_be_kept(ragged):
    relaxation = simplex(ragged)
    relaxation.kill("cell", 5, 1)
    with pytest.raises(RelaxationError, match="no candidate 1 on edge 5 of cell to keep"):
        relaxation.keep("cell", 5, 1)
    assert relaxation.live("cell")[5] == (0, 2)


def test_a_wrong_arch_has_a_hint(ragged):
    for relaxation in (
        simplex(ragged),
        Attention(ragged),
        RandomArchitecture(ragged, generator=torch.Generator()),
    ):
        with pytest.raises(UnknownNameError, match="did you mean 'cell'"):
            relaxation.live("cells")
    with pytest.raises(UnknownNameError, match="no arch called 'celt'"):
        simplex(ragged).kill("celt", 0, 0)


def test_a_kill_keeps_the_parameter_itself(ragged):
    """Optimisers hold on to the parameter, so it must not be replaced."""
    relaxation = simplex(ragged)
    (before,) = relaxation.arch_parameters()
    relaxation.kill("cell", 0, 0)
    (after,) = relaxation.arch_parameters()
    assert after is before
    assert after[0].tolist() == [0, 0.5, 0.5]
