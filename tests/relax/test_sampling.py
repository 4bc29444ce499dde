from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import chisquare

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn import ArchMixture, Blend, one_hot
from dartboard.relax import Attention, Gumbel, RandomArchitecture, RngState, simplex, softmax
from dartboard.relax.sampling import straight_through
from dartboard.space import Stack, enumerate_genotypes, get_space, restrict
from dartboard.space.catalog import stacked
from helpers import networks

SHARES = (0.6, 0.3, 0.1)
THETA = torch.tensor(SHARES)
EDGE = 0  # of the ragged cell: three candidates
SEED = 4  # of draws in which that edge has not drawn `none`


def on_logits(space, generator, **options):
    inner = softmax(space)
    inner.cells["cell"].ops.data[EDGE] = THETA.log() + 5.0
    return Gumbel(inner, generator=generator, **options)


def on_simplex(space, generator, **options):
    inner = simplex(space)
    inner.cells["cell"].ops.data[EDGE] = THETA
    return Gumbel(inner, generator=generator, **options)


MAKERS = {"softmax": on_logits, "simplex": on_simplex}
each_form = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@each_form
def test_one_op_an_edge_with_weight_one(ragged, generator, make):
    for _ in range(20):
        blend = make(ragged, generator, temperature=0.7)().blend(0)
        places = [place for (place,) in blend.live]
        assert torch.equal(blend.ops, F.one_hot(torch.tensor(places), 3).float())
        assert places[1] == places[4] == 0
        assert places[2] < 2


@each_form
def test_ops_are_drawn_as_often_as_they_weigh(ragged, generator, make):
    relaxation = make(ragged, generator)
    draws = 3000
    with torch.no_grad():
        counts = Counter(relaxation().blend(0).live[EDGE][0] for _ in range(draws))
    observed = [counts[place] for place in range(3)]
    assert chisquare(observed, [draws * share for share in SHARES]).pvalue > 0.01
    assert chisquare(observed, [draws / 3] * 3).pvalue < 1e-6


@each_form
def test_exploration_mixes_in_equal_chances(ragged, generator, make):
    relaxation, draws, explore = make(ragged, generator), 3000, 0.4
    relaxation.exploration = explore
    with torch.no_grad():
        live = [relaxation().blend(0).live for _ in range(draws)]
    observed = [Counter(edges[EDGE][0] for edges in live)[place] for place in range(3)]
    assert chisquare(observed, [draws * (0.6 * share + 0.4 / 3) for share in SHARES]).pvalue > 0.01
    assert chisquare(observed, [draws * share for share in SHARES]).pvalue < 1e-6
    assert {edges[1] for edges in live} == {(0,)}  # an edge with one candidate has one still
    assert {edges[2] for edges in live} == {(0,), (1,)}


ALONE = stacked(
    "alone", get_space("nano").cells["cell"], Stack(cells=1, reduce="pool", stages=1, stem=1, head_norm=True)
)


@pytest.mark.parametrize("seed", range(4))
def test_what_edges_into_a_normalized_node_say_of_their_ops_sums_to_zero(seed):
    """Euler's theorem: the size of what a batch-norm sees changes nothing, so neither does scaling all edges.

    `none` has a signal of exactly zero, so that of two ops that were drawn one is always called no better.
    """
    net = networks.build(ALONE, seed=seed).train()
    weights = torch.zeros(3, 6, dtype=torch.float64)
    places = torch.randint(1, 6, (3,), generator=torch.Generator().manual_seed(seed)).tolist()
    for edge, place in enumerate(places):
        weights[edge, place] = 1
    weights.requires_grad_()
    step(net, ArchMixture(ALONE, {"cell": Blend(tuple((place,) for place in places), weights)}))
    first, second = (float(weights.grad[edge, places[edge]]) for edge in (1, 2))  # both lead to the output
    assert abs(first) > 1e-4
    assert first == pytest.approx(-second, rel=0.01)


def step(net, mixture):
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    F.cross_entropy(net(x, mixture), torch.tensor([1, 2])).backward()


@pytest.mark.parametrize(
    ("make", "explore"), [(on_logits, 0.0), (on_simplex, 0.0), (on_simplex, 0.3), (on_simplex, 1.0)]
)
def test_the_gradient_is_straight_through(ragged, make, explore):
    """Against the formula: c s_k (delta_jk - s_j) / temperature in the logarithm of the chances."""
    generator = torch.Generator().manual_seed(SEED)
    net, relaxation = networks.build(ragged).eval(), make(ragged, generator, temperature=1.5).double()
    relaxation.exploration = explore
    cell = relaxation.inner.cells["cell"]
    blend = (mixture := relaxation()).blend(0)
    step(net, mixture)

    weights, mask = (
        cell.parametrization.weights(cell.ops, cell.candidates.mask).detach(),
        cell.candidates.mask,
    )
    chances = (1 - explore) * weights + explore * mask.double() / mask.sum(-1, keepdim=True)
    logs = chances.log()
    noise = RngState(torch.Generator().manual_seed(SEED)).gumbel(logs)
    soft = ((logs + noise) / 1.5).softmax(-1)
    weights = blend.ops.detach().requires_grad_()
    step(net, ArchMixture(ragged, {"cell": Blend(blend.live, weights)}))
    for edge, (drawn,) in enumerate(blend.live):
        slope = weights.grad[edge, drawn]
        assert weights.grad[edge].count_nonzero() <= 1  # nothing else was computed
        for place in range(len(ragged.cells["cell"].edges[edge].ops)):
            expected = slope * soft[edge, drawn] * (float(place == drawn) - soft[edge, place]) / 1.5
            if make is on_simplex:
                expected = expected * (1 - explore) / chances[edge, place]
            assert cell.ops.grad[edge, place].item() == pytest.approx(expected.item(), abs=1e-12)
    assert blend.live[EDGE] != (0,)
    assert explore == 1 or cell.ops.grad[EDGE].abs().min() > 1e-6


def test_an_edge_that_draws_none_has_no_gradient(ragged, generator):
    relaxation = on_logits(ragged, generator).double()
    blend = (mixture := relaxation()).blend(0)
    step(networks.build(ragged), mixture)
    assert blend.live[EDGE] == (0,)
    assert relaxation.inner.cells["cell"].ops.grad[EDGE].tolist() == [0, 0, 0]


def test_straight_through_is_exact_forwards_and_soft_backwards():
    logits = torch.randn(50, 7, generator=torch.Generator().manual_seed(0), requires_grad=True)
    soft = logits.softmax(-1)
    hard = straight_through(soft)
    assert torch.equal(hard, F.one_hot(soft.argmax(-1), 7).float())
    direction = torch.arange(7.0)
    (gradient,) = torch.autograd.grad((hard * direction).sum(), logits, retain_graph=True)
    (expected,) = torch.autograd.grad((soft * direction).sum(), logits)
    assert torch.equal(gradient, expected)


def test_the_temperature_changes_the_gradient_and_not_the_draw(ragged):
    found = []
    for temperature in (0.5, 5.0):
        relaxation = on_logits(ragged, torch.Generator().manual_seed(0), temperature=temperature)
        blend = relaxation().blend(0)
        (blend.ops * torch.arange(3.0)).sum().backward()
        found.append((blend.live, relaxation.inner.cells["cell"].ops.grad))
    assert found[0][0] == found[1][0]
    assert not torch.allclose(found[0][1], found[1][1], rtol=0.1)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_temperature_is_positive(ragged, generator, value):
    relaxation = on_logits(ragged, generator)
    with pytest.raises(RelaxationError, match="positive"):
        relaxation.temperature = value
    with pytest.raises(RelaxationError, match="positive"):
        on_logits(ragged, generator, temperature=value)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_noise_that_is_not_finite_is_drawn_again(ragged, generator, monkeypatch, bad):
    relaxation = on_logits(ragged, generator)
    draw, seen = relaxation.dice.gumbel, []

    def gumbel(like):
        seen.append(draw(like))
        return seen[-1].index_fill(0, torch.tensor([EDGE]), bad) if len(seen) < 3 else seen[-1]

    monkeypatch.setattr(relaxation.dice, "gumbel", gumbel)
    blend = relaxation().blend(0)
    assert len(seen) == 3
    assert blend.ops.isfinite().all()


def test_parameters_that_are_not_finite_are_an_error_and_no_endless_loop(ragged, generator):
    relaxation = on_logits(ragged, generator)
    relaxation.inner.cells["cell"].ops.data[3, 0] = torch.nan
    with pytest.raises(RelaxationError, match="no finite sample"):
        relaxation()


@each_form
def test_the_dead_are_never_drawn(ragged, generator, make):
    relaxation = make(ragged, generator)
    relaxation.kill("cell", EDGE, 0)
    assert relaxation.live("cell")[EDGE] == (1, 2)
    assert relaxation.strengths()["cell"].ops[EDGE].tolist() == pytest.approx([0, 0.75, 0.25])
    places = {relaxation().blend(0).live[EDGE] for _ in range(50)}
    assert places == {(1,), (2,)}
    (relaxation().blend(0).ops * torch.arange(3.0)).sum().backward()
    gradient = relaxation.arch_parameters()[0].grad
    assert gradient.isfinite().all()
    assert gradient[EDGE, 0] == 0


def test_temperature_and_chance_are_in_the_state(ragged, generator):
    relaxation = on_logits(ragged, generator, temperature=0.3)
    relaxation()
    other = on_logits(ragged, torch.Generator().manual_seed(99))
    other.load_state_dict(relaxation.state_dict())
    assert (other.temperature, other.exploration) == (0.3, 0.0)
    for _ in range(5):
        assert other().blend(0).live == relaxation().blend(0).live


def test_exploration_is_in_the_state_where_there_is_any(ragged, generator):
    relaxation = on_logits(ragged, generator, temperature=0.3)
    assert relaxation.state_dict()["_extra_state"].shape == ()  # as runs of before have it
    relaxation.exploration = 0.5
    other = on_logits(ragged, torch.Generator())
    other.load_state_dict(relaxation.state_dict())
    assert (other.temperature, other.exploration) == (0.3, 0.5)
    for _ in range(5):
        assert other().blend(0).live == relaxation().blend(0).live


def test_edge_weights_stay_soft(generator):
    space = get_space("oneshot1")
    blend = Gumbel(softmax(space), generator=generator)().blend(0)
    contest = space.cells["cell"].contests[0]
    assert blend.edges[list(contest.edges)].tolist() == pytest.approx(
        [1 / len(contest.edges)] * len(contest.edges)
    )
    assert all(len(places) == 1 for places in blend.live)


def test_attention_has_nothing_to_draw_from(ragged, generator):
    with pytest.raises(CompositionError, match="Attention has none"):
        Gumbel(Attention(ragged), generator=generator)


def test_every_architecture_is_as_likely_as_any_other(ragged, generator):
    relaxation = RandomArchitecture(ragged, generator=generator)
    known = list(enumerate_genotypes(ragged))
    counts = Counter(relaxation.draw() for _ in range(20 * len(known)))
    assert set(counts) <= set(known)
    assert chisquare([counts[genotype] for genotype in known]).pvalue > 0.01


def test_an_architecture_runs_alone_and_contests_are_respected(ragged):
    relaxation = RandomArchitecture(ragged, generator=torch.Generator().manual_seed(5))
    same = RandomArchitecture(ragged, generator=torch.Generator().manual_seed(5))
    for _ in range(10):
        genotype, blend = same.draw(), relaxation().blend(0)
        assert blend.live == one_hot(ragged, genotype).blend(0).live
        restrict(ragged, genotype)
        assert sum(bool(places) for places in blend.live[3:]) == 2


def test_random_architectures_have_the_type_of_the_relaxation(ragged, generator):
    relaxation = RandomArchitecture(ragged, generator=generator).double()
    assert relaxation().blend(0).ops.dtype == torch.float64
    assert relaxation.strengths()["cell"].ops.dtype == torch.float64


def test_random_architectures_lose_no_candidate(ragged, generator):
    with pytest.raises(CompositionError, match="leave the op out of the space"):
        RandomArchitecture(ragged, generator=generator).kill("cell", 0, 0)
