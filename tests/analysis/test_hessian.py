import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from dartboard.analysis.hessian import Spectrum, arch_spectrum, weight_spectrum
from dartboard.analysis.measures import weights_of
from dartboard.arch.curvature import largest_eigenvalue
from dartboard.errors import CompositionError, DataError, OptionError
from helpers.landscape_cases import images, normalized, random_model
from helpers.search_cases import batch, random_objective

SMALL = {"channels": 1, "input": (3, 8, 8)}


def dense(net, x, y):
    """All eigenvalues, from the whole matrix in float64."""
    weights = list(weights_of(net).values())
    grads = torch.autograd.grad(F.cross_entropy(net(x), y), weights, create_graph=True)
    flat = torch.cat([grad.flatten() for grad in grads])
    rows = [torch.autograd.grad(entry, weights, retain_graph=True, materialize_grads=True) for entry in flat]
    return torch.linalg.eigvalsh(torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]))


def test_both_ends_are_those_of_the_whole_matrix():
    own, given = random_model(mix="plain", **SMALL), images(6)
    expected = dense(own.net, normalized(given), given.labels)
    found = weight_spectrum(own, given, count=4, batch=4, tolerance=1e-10)
    assert found.largest == pytest.approx(expected.flip(0)[:4].tolist(), rel=1e-6)
    assert found.smallest == pytest.approx(expected[0].item(), rel=1e-6)
    assert found.size == len(expected)
    assert found.examples == 6


def test_batches_change_nothing_unless_their_statistics_count():
    own, given = random_model(**SMALL), images(8)

    def largest(**more):
        return weight_spectrum(own, given, count=1, tolerance=1e-9, **more).largest[0]

    assert largest(batch=8) == pytest.approx(largest(batch=3), rel=1e-6)
    assert largest(batch=8) != pytest.approx(largest(batch=8, statistics="batch"), rel=0.01)
    assert largest(batch=8) != pytest.approx(largest(batch=8, examples=4), rel=0.01)


def network(dtype=torch.float64):
    """A module that is none of dartboard's, with a frozen weight."""
    torch.manual_seed(3)
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Dropout(0.5), nn.Linear(5, 4)).to(dtype)
    net[0].bias.requires_grad_(False)
    return net


def pairs(count=20, dtype=torch.float64):
    rng = torch.Generator().manual_seed(4)
    return torch.randn(count, 6, generator=rng, dtype=dtype), torch.arange(count) % 4


def test_any_module():
    net, (x, y) = network().eval(), pairs()
    net.train()
    found = weight_spectrum(net, (x, y), count=3, batch=7, tolerance=1e-10)
    for module in net.modules():
        assert module.training
    weights = list(net.parameters())
    frozen = [weight.requires_grad for weight in weights]
    assert frozen == [True, False, True, True]
    expected = dense(net.eval().requires_grad_(True), x, y)
    assert found.largest == pytest.approx(expected.flip(0)[:3].tolist(), rel=1e-6)
    assert found.smallest == pytest.approx(expected[0].item(), rel=1e-6)
    assert (found.size, found.examples) == (len(expected), 20)
    data = torch.utils.data.TensorDataset(x, y)
    assert weight_spectrum(net, data, count=3, batch=7, tolerance=1e-10) == found


def test_trace_and_density_of_the_whole_matrix():
    net, (x, y) = network(), pairs()
    whole = dense(net.eval().requires_grad_(True), x, y).numpy()
    told = []
    found = weight_spectrum(net, (x, y), probes=60, degree=8, progress=lambda *words: told.append(words))
    assert abs(found.trace.mean - whole.sum()) < 3 * found.trace.error
    assert found.trace.error < 0.2 * whole.sum()
    density = found.density
    assert density.weights.sum(1) == pytest.approx(np.ones(60))
    assert density.moment(1) * len(whole) == pytest.approx(found.trace.mean)  # from the same runs
    for power in range(1, 16):
        samples = (density.weights * density.nodes**power).sum(1)
        error = samples.std(ddof=1) / math.sqrt(60)
        assert abs(density.moment(power) - (whole**power).mean()) < 4 * error
    ends = weight_spectrum(net, (x, y))
    assert len(told) - 59 * 8 == products(net, (x, y))  # the first probe costs nothing
    assert (found.largest, found.smallest) == (ends.largest, ends.smallest)
    alone = weight_spectrum(net, (x, y), probes=60)
    assert alone.trace.mean == pytest.approx(found.trace.mean)
    assert alone.density is None
    assert products(net, (x, y), probes=60) == products(net, (x, y)) + 59
    facts = json.loads(json.dumps(found.facts(), allow_nan=False))
    assert facts["trace"]["probes"] == 60
    assert len(facts["density"]["nodes"][0]) == 8
    assert found.plot().axes[0].get_yscale() == "log"


def products(net, data, **options):
    told = []
    weight_spectrum(net, data, progress=lambda *words: told.append(words), **options)
    return len(told)


class Attention(nn.Module):
    """Attention over the entries of an example, whose fused backward has no derivative."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Linear(1, 8), nn.Linear(8, 4)

    def forward(self, x):
        tokens = self.embed(x[..., None])[:, None]
        return self.head(F.scaled_dot_product_attention(tokens, tokens, tokens)[:, 0].mean(1))


def test_modules_with_attention():
    net = Attention().double()
    found = weight_spectrum(net, pairs(), count=1, tolerance=1e-9)
    with sdpa_kernel(SDPBackend.MATH):
        expected = dense(net, *pairs())
    assert found.largest[0] == pytest.approx(expected[-1].item(), rel=1e-6)


@pytest.mark.parametrize(
    ("net", "data", "message"),
    [
        (
            network(),
            (torch.zeros(4, 7).double(), torch.zeros(4).long()),
            r"cannot take examples of shape \[4, 7\]",
        ),
        (nn.Unflatten(1, (2, 3)), pairs(), "no weights"),
        (nn.Sequential(network(), nn.Unflatten(1, (2, 2))), pairs(), r"gives \[20, 2, 2\] for 20 examples"),
        (network(), (pairs()[0], torch.full((20,), 4)), "there is a label 4, but the network has 4 classes"),
        (network(), (pairs()[0], torch.zeros(3).long()), "20 examples with 3 labels"),
        (
            nn.Sequential(network(), nn.Hardsigmoid()),
            pairs(),
            "a part of the network has no second derivative",
        ),
        (network(), images(), "not known how these images are normalized"),
    ],
)
def test_what_does_not_fit_is_said(net, data, message):
    with pytest.raises((OptionError, DataError), match=message):
        weight_spectrum(net, data)


def test_options_that_need_another():
    with pytest.raises(OptionError, match="give a number of probes"):
        weight_spectrum(network(), pairs(), degree=3)
    with pytest.raises(OptionError, match="statistics=batch is of batch-norms"):
        weight_spectrum(network(), pairs(), statistics="batch")
    with pytest.raises(OptionError, match="no density to draw"):
        weight_spectrum(network(), pairs(), probes=2).plot()


def test_nothing_is_changed_and_products_are_told():
    own, told = random_model(**SMALL), []
    before = {name: value.clone() for name, value in own.net.state_dict().items()}
    weight_spectrum(own, images(4), statistics="batch", count=1, progress=lambda *words: told.append(words))
    assert all(torch.equal(value, before[name]) for name, value in own.net.state_dict().items())
    assert told == [("products with the Hessian", made, 0) for made in range(1, len(told) + 1)]


def test_architecture_parameters():
    objective = random_objective("nano", "softmax")
    told = []
    tell = lambda *words: told.append(words)  # noqa: E731
    found = arch_spectrum(objective, [batch(0)], count=3, tolerance=1e-10, progress=tell)
    assert found.largest[0] == pytest.approx(largest_eigenvalue(objective, batch(0), tolerance=1e-10))
    assert list(found.largest) == sorted(found.largest, reverse=True)
    assert found.smallest < found.largest[-1]
    assert found.size == sum(own.numel() for own in objective.relaxation.arch_parameters())
    assert told == [("products with the Hessian", made, 0) for made in range(1, len(told) + 1)]
    assert len(told) > 3
    more = arch_spectrum(objective, [batch(0), batch(1)], count=3)
    assert more.examples == 2 * found.examples
    assert more.largest[0] != pytest.approx(found.largest[0], rel=1e-3)


def test_without_architecture_parameters():
    with pytest.raises(CompositionError, match="no architecture parameters"):
        arch_spectrum(random_objective("nano", "attention"), [batch(0)])


def test_what_was_not_found_is_none():
    facts = Spectrum((1.0, math.nan), math.nan, 2, 3).facts()
    assert facts == {"largest": [1.0, None], "smallest": None, "parameters": 2, "examples": 3}
