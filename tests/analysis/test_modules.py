"""Landscapes of modules that are none of dartboard's, with every kind of examples."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dartboard.analysis.grid import GridOptions
from dartboard.analysis.landscape import landscape
from dartboard.analysis.measures import draw_direction
from dartboard.data import Dataset
from dartboard.errors import DataError, OptionError
from helpers.landscape_cases import MEAN, images

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL = {"grid": 3, "radius": 0.5, "examples": 12, "batch": 4}


class Residual(nn.Module):
    """A small network with a batch-norm, dropout, a scalar weight and a weight that two layers share."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.mix, self.scale = nn.Conv2d(4, 4, 1, bias=False), nn.Parameter(torch.tensor(0.7))
        self.again, self.head = nn.Conv2d(4, 4, 1, bias=False), nn.Linear(4, 5)
        self.again.weight = self.mix.weight

    def forward(self, x):
        x = self.norm(self.conv(x)).relu()
        x = x + self.scale * self.again(self.mix(x).tanh())
        return self.head(F.dropout(x.mean((2, 3)), 0.5, self.training))


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(1)
    net = Residual().double()
    net.norm.running_mean.normal_()
    net.norm.running_var.uniform_(0.5, 2)
    return net


def pair(count: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(2)
    return torch.randn(count, 3, 8, 8, generator=rng).double(), torch.arange(count) % 5


def moved(net: nn.Module, a: float, b: float) -> nn.Module:
    other = deepcopy(net).eval()
    weights = list(other.parameters())
    directions = [draw_direction(weights, number) for number in (1, 2)]
    with torch.no_grad():
        for weight, first, second in zip(weights, *directions, strict=True):
            weight.add_(a * first + b * second)
    return other


def options(**more: object) -> GridOptions:
    return GridOptions.model_validate(SMALL | more)


def singles(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    rows = []
    for one in zip(x.split(1), y.split(1), strict=True):
        grads = torch.autograd.grad(F.cross_entropy(net(one[0]), one[1]), list(net.parameters()))
        rows.append(torch.cat([grad.flatten() for grad in grads]))
    return torch.stack(rows)


def test_loss_gradient_and_variance_are_those_of_moved_modules(net: nn.Module) -> None:
    x, y = pair()
    net.train()
    before = deepcopy(net.state_dict())
    found = {of: landscape(net, (x, y), options(of=of)) for of in ("loss", "gradient", "variance")}
    for row, b in enumerate((-0.5, 0.0, 0.5)):
        for column, a in enumerate((-0.5, 0.0, 0.5)):
            other = moved(net, a, b)
            grads = singles(other, x, y)
            variance = (grads - grads.mean(0)).square().sum(1).mean().item()
            assert found["loss"].values[row, column] == pytest.approx(F.cross_entropy(other(x), y).item())
            assert found["gradient"].values[row, column] == pytest.approx(grads.mean(0).norm().item())
            assert found["variance"].values[row, column] == pytest.approx(variance)
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_modules_that_cannot_be_vectorized_give_the_same_variance(net: nn.Module) -> None:
    class Strict(Residual):
        def forward(self, x):
            assert x.sum().item() != 0  # which vmap refuses
            return super().forward(x)

    other = Strict().double()
    other.load_state_dict(net.state_dict())
    expected, found = (landscape(one, pair(), options(of="variance")).values for one in (net, other))
    assert found == pytest.approx(expected)


def test_statistics_of_batches_and_fresh_ones_drop_nothing(net: nn.Module) -> None:
    x, y = pair()
    found = landscape(net, (x, y), options(statistics="batch", batch=12))
    other = deepcopy(net).eval()
    other.norm.train()
    assert found.center == pytest.approx(F.cross_entropy(other(x), y).item())
    fresh = landscape(net, (x, y), options(statistics="fresh", fresh=12, batch=12), train=(x + 1, y))
    other.norm.momentum = 1.0
    other(x + 1)
    assert fresh.center == pytest.approx(F.cross_entropy(other.eval()(x), y).item())


def test_a_data_set_is_normalized_by_its_own_moments(net: nn.Module) -> None:
    train, test = images(20, seed=1), images(12)
    data = Dataset("few", tuple("abcde"), train, test)
    pixels = test.images.float()
    mean, std = (torch.tensor(values)[:, None, None] for values in (data.mean, data.std))
    expected = landscape(net, (((pixels - mean) / std).double(), test.labels), options())
    assert landscape(net, data, options()).values == pytest.approx(expected.values, rel=1e-6)
    assert data.mean != pytest.approx(MEAN)
    with pytest.raises(DataError, match="give their data set"):
        landscape(net, test, options())


def test_fewer_examples_are_spread_over_all(net: nn.Module) -> None:
    x, y = pair(20)
    some = landscape(net, (x, y), options(examples=4))
    assert np.array_equal(some.values, landscape(net, (x[::5], y[::5]), options(examples=4)).values)
    stored = torch.utils.data.TensorDataset(x, y)
    assert np.array_equal(some.values, landscape(net, stored, options(examples=4)).values)


def test_threads_give_the_same_bits_and_what_is_there_is_kept(net: nn.Module, tmp_path: Path) -> None:
    expected = landscape(net, pair(), options(grid=5)).values
    told: list[int] = []
    found = landscape(
        net, pair(), options(grid=5), jobs=3, folder=tmp_path, progress=lambda _, done, __: told.append(done)
    )
    assert np.array_equal(found.values, expected)
    assert told == list(range(1, 26))
    again = landscape(net, pair(), options(grid=5), jobs=3, folder=tmp_path, progress=lambda *_: 1 / 0)
    assert np.array_equal(again.values, expected)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_traced_programs_keep_their_statistics(net: nn.Module) -> None:
    x, y = pair()
    program = torch.jit.trace(net.eval(), x[:2])
    expected = landscape(net, (x, y), options(of="variance"))
    assert landscape(program, (x, y), options(of="variance")).values == pytest.approx(expected.values)
    with pytest.raises(OptionError, match="those of a traced program are part of it"):
        landscape(program, (x, y), options(statistics="batch"))
