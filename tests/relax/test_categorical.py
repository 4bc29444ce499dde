import pytest
import torch
import torch.nn.functional as F

from dartboard.errors import CompositionError, RelaxationError, UnknownNameError
from dartboard.relax import Attention, RandomArchitecture, simplex, softmax
from dartboard.relax.categorical import Candidates, Logits, Simplex, edge_groups
from dartboard.space import NONE, Cell, Edge, SearchSpace, get_space
from helpers import networks

MASK = torch.tensor([[True, True, True], [True, False, True], [False, True, False]])
FORMS = {"logits": Logits(), "simplex": Simplex()}


def values(form) -> torch.Tensor:
    drawn = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (form.renormalize(drawn.exp(), MASK) if isinstance(form, Simplex) else drawn).requires_grad_()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_it_starts_with_equal_weights(form):
    expected = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [0.5, 0, 0.5], [0, 1, 0]])
    assert torch.allclose(form.weights(form.initial(MASK), MASK), expected)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_are_on_the_simplex_and_nothing_is_outside_the_mask(form):
    weights = form.weights(values(form), MASK)
    assert torch.allclose(weights.sum(-1), torch.ones(3, dtype=torch.float64))
    assert torch.equal(weights > 0, MASK)
    assert weights[2, 1] == 1


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_entries_outside_the_mask_and_alone_have_no_gradient(form):
    own, direction = values(form), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    (gradient,) = torch.autograd.grad((form.weights(own, MASK) * direction).sum(), own)
    chosen = MASK & (MASK.sum(-1, keepdim=True) > 1)
    assert torch.equal(gradient != 0, chosen & (direction != 0) if isinstance(form, Simplex) else chosen)


def test_the_gradient_of_logits_is_that_of_a_softmax():
    own, direction = values(Logits()), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    weights = Logits().weights(own, MASK)
    (gradient,) = torch.autograd.grad((weights * direction).sum(), own)
    mean = (weights * direction).sum(-1, keepdim=True)
    assert torch.allclose(gradient, weights * (direction - mean))


def test_the_gradient_on_the_simplex_is_that_of_the_weights():
    own, direction = values(Simplex()), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    (gradient,) = torch.autograd.grad((Simplex().weights(own, MASK) * direction).sum(), own)
    chosen = MASK & (MASK.sum(-1, keepdim=True) > 1)
    assert torch.equal(gradient, direction.masked_fill(~chosen, 0))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_derivatives_agree_with_finite_differences(form):
    own = values(form)
    assert torch.autograd.gradcheck(lambda x: form.weights(x, MASK), own)
    assert torch.autograd.gradgradcheck(lambda x: form.weights(x, MASK).square(), own)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_log_weights_are_the_logarithm(form):
    own = values(form)
    logs = form.log_weights(own, MASK)
    assert torch.allclose(logs.exp(), form.weights(own, MASK))
    (gradient,) = torch.autograd.grad(logs[MASK].sum(), own)
    assert gradient.isfinite().all()
    assert torch.equal(gradient[~MASK], torch.zeros(3, dtype=torch.float64))


def test_a_weight_that_has_become_zero_does_no_harm():
    own = torch.tensor([[0.0, 0.25, 0.75]], requires_grad=True)
    logs = Simplex().log_weights(own, torch.ones(1, 3, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(logs.softmax(-1)[0, 1], own)
    assert gradient.isfinite().all()
    assert gradient[0, 0] == 0


def test_the_rest_keeps_its_proportions():
    settled = Simplex().renormalize(torch.tensor([0.5, 0.1, 0.4]), torch.tensor([False, True, True]))
    assert torch.allclose(settled, torch.tensor([0.0, 0.2, 0.8]))
    empty = Simplex().renormalize(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([False, True, True]))
    assert torch.allclose(empty, torch.tensor([0.0, 0.5, 0.5]))


def cell_of(name: str, arch: str = "cell") -> Cell:
    return get_space(name).cells[arch]


def test_edges_with_fewer_candidates_are_padded(ragged):
    mask = Candidates(ragged.cells["cell"]).mask
    assert mask.sum(-1).tolist() == [3, 1, 2, 2, 1, 3]
    assert mask[2].tolist() == [True, True, False]


def test_only_weighted_contests_have_edge_weights_unless_asked(ragged):
    assert edge_groups(ragged.cells["cell"], every_node=False) == []
    assert edge_groups(ragged.cells["cell"], every_node=True) == [(3, 4, 5), (1, 2)]


def test_contests_of_darts_are_its_nodes():
    groups = edge_groups(cell_of("darts", "normal"), every_node=True)
    assert groups == [(0, 1), (2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12, 13)]


def test_plain_connections_into_joins_are_left_alone():
    cell = cell_of("oneshot1")
    weighted = [contest.edges for contest in cell.contests]
    assert edge_groups(cell, every_node=False) == edge_groups(cell, every_node=True) == weighted


def test_every_edge_finds_its_place_in_the_table(ragged):
    cell = simplex(ragged, edge_weights=True).cells["cell"]
    assert cell.group_mask.tolist() == [[True, True, True], [True, True, False]]
    assert cell.group_places.tolist() == [6, 3, 4, 0, 1, 2]


def test_a_chain_has_nothing_to_tell_apart():
    chain = Cell(1, 3, (Edge(0, 1, ("none", "skip_connect")), Edge(1, 2, ("skip_connect",))), (2,))
    assert edge_groups(chain, every_node=True) == []


def test_a_candidate_dies_in_mask_and_tuple(ragged):
    candidates = Candidates(ragged.cells["cell"])
    candidates.kill(0, 1)
    assert candidates.live == ((0, 2), (0,), (0, 1), (0, 1), (0,), (0, 1, 2))
    assert candidates.mask[0].tolist() == [True, False, True]


def test_a_load_brings_back_who_is_alive(ragged):
    candidates, other = Candidates(ragged.cells["cell"]), Candidates(ragged.cells["cell"])
    candidates.kill(5, 0)
    other.kill(0, 1)
    other.load_state_dict(candidates.state_dict())
    assert other.live == candidates.live


@pytest.mark.parametrize(
    ("edge", "place", "message"),
    [
        (1, 0, "candidate 0 is the last of edge 1"),
        (2, 2, "no candidate 2 on edge 2; there are 0, 1"),
        (2, -1, "no candidate -1 on edge 2"),
        (6, 0, "no candidate 0 on edge 6; there are those of edges 0 to 5"),
        (-1, 0, "no candidate 0 on edge -1"),
    ],
)
def test_what_cannot_die(ragged, edge, place, message):
    candidates = Candidates(ragged.cells["cell"])
    with pytest.raises(RelaxationError, match=message):
        candidates.kill(edge, place)


MAKERS = {"softmax": softmax, "simplex": simplex}


def spread_out(relaxation):
    """The relaxation in float64, with weights far from equal."""
    generator = torch.Generator().manual_seed(1)
    for cell in relaxation.double().cells.values():
        for values, mask in (cell.ops, cell.candidates.mask), (cell.edges, getattr(cell, "group_mask", None)):
            if values is not None:
                drawn = torch.rand(values.shape, generator=generator, dtype=torch.float64) + 0.1
                values.data = cell.parametrization.renormalize(drawn, mask)
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
    net = networks.build(ragged).eval()
    relaxation = spread_out(make(ragged, edge_weights=edge_weights))
    names = [name for name, _ in relaxation.named_parameters()]

    def loss(*values):
        mixture = torch.func.functional_call(relaxation, dict(zip(names, values, strict=True)), ())
        return loss_of(net, mixture)

    assert torch.autograd.gradcheck(loss, tuple(relaxation.arch_parameters()))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_dead_candidate_is_never_computed_and_the_others_share_its_weight(ragged, make):
    net, relaxation = networks.build(ragged, mix="plain"), spread_out(make(ragged))
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
    networks.keep_one(relaxation, "cell", 5, 1)
    assert relaxation.live("cell")[5] == (1,)
    assert relaxation.strengths()["cell"].ops[5].tolist() == [0, 1, 0]
    relaxation().blend(0).ops.square().sum().backward()
    assert relaxation.cells["cell"].ops.grad[5].tolist() == [0, 0, 0]


def test_a_wrong_arch_has_a_hint(ragged):
    for relaxation in (
        simplex(ragged),
        Attention(ragged),
        RandomArchitecture(ragged, generator=torch.Generator()),
    ):
        with pytest.raises(UnknownNameError, match="did you mean 'cell'"):
            relaxation.live("cells")
    with pytest.raises(UnknownNameError, match="no decision group called 'celt'"):
        simplex(ragged).kill("celt", 0, 0)


def test_a_kill_keeps_the_parameter_itself(ragged):
    """Optimizers hold on to the parameter, so it must not be replaced."""
    relaxation = simplex(ragged)
    (before,) = relaxation.arch_parameters()
    relaxation.kill("cell", 0, 0)
    (after,) = relaxation.arch_parameters()
    assert after is before
    assert after[0].tolist() == [0, 0.5, 0.5]
