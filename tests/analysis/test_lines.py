"""Lines through weights, against networks that are moved by hand."""

from copy import deepcopy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dartboard.analysis.lines import interpolate, loss_line, project
from dartboard.errors import OptionError
from helpers.landscape_cases import images, normalized, random_model

pytestmark = pytest.mark.usefixtures("one_thread")


def nets(count=2):
    found = []
    for seed in range(count):
        torch.manual_seed(seed)
        layers = (nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(), nn.Linear(144, 5))
        net = nn.Sequential(*layers).double().eval()
        net[1].running_mean.normal_()
        net[1].running_var.uniform_(0.5, 2)
        found.append(net)
    return found


def pair(count=20):
    rng = torch.Generator().manual_seed(9)
    return torch.randn(count, 3, 8, 8, generator=rng).double(), torch.arange(count) % 5


def test_points_are_mixtures_of_both_networks():
    (first, second), (x, y) = nets(), pair()
    states = [first.state_dict(), second.state_dict()]
    before = deepcopy(states)
    line = loss_line(first, states, (x, y), points=5, beyond=0.5, batch=7)
    assert line.positions.tolist() == [-0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.25, 1.5]
    for position, loss, accuracy in zip(line.positions, line.losses, line.accuracies, strict=True):
        other = deepcopy(first)
        mixed = {
            name: (1 - position) * a + position * second.state_dict()[name] for name, a in states[0].items()
        }
        for name in ("1.running_mean", "1.running_var"):  # beyond the ends those of the end
            mixed[name] = torch.lerp(states[0][name], states[1][name], min(max(position, 0.0), 1.0))
        mixed["1.num_batches_tracked"] = states[0]["1.num_batches_tracked"]
        other.load_state_dict(mixed)
        logits = other(x)
        assert loss == pytest.approx(F.cross_entropy(logits, y).item())
        assert accuracy == pytest.approx((logits.argmax(1) == y).double().mean().item())
    chord = line.losses[2] + line.positions[2:7] * (line.losses[6] - line.losses[2])
    assert line.barrier == pytest.approx((line.losses[2:7] - chord).max())
    distance = sum(
        (a - b).square().sum() for a, b in zip(first.parameters(), second.parameters(), strict=True)
    )
    assert line.distances == pytest.approx([distance.sqrt().item()])
    assert all(torch.equal(a[name], b[name]) for a, b in zip(states, before, strict=True) for name in a)


def test_fresh_statistics_are_those_of_the_point():
    (first, second), (x, y) = nets(), pair()
    states = [first.state_dict(), second.state_dict()]
    line = loss_line(
        first, states, (x, y), points=3, beyond=0, statistics="fresh", train=(x + 1, y), fresh=20, batch=20
    )
    other = deepcopy(first)
    other.load_state_dict(interpolate(*states, 0.5, ()))
    other[1].momentum = 1.0
    other[1].reset_running_stats()
    other[1].train()
    other(x + 1)
    assert line.losses[1] == pytest.approx(F.cross_entropy(other.eval()(x), y).item())


def test_a_path_through_several_states():
    found, (x, y) = nets(3), pair()
    states = [net.state_dict() for net in found]
    line = loss_line(found[0], states, (x, y), points=3, beyond=1)
    assert line.positions.tolist() == [-1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3]
    for place, net in enumerate(found):
        at = line.positions.tolist().index(place)
        assert line.losses[at] == pytest.approx(F.cross_entropy(net(x), y).item())
    assert sum(line.explained) == pytest.approx(1.0)
    figure = line.plot(["a", "b", "c"])
    assert len(figure.axes) == 3
    assert len(loss_line(found[0], states[:2], (x, y), points=2).plot(["a", "b"]).axes) == 2


def test_distances_in_the_plane_are_those_of_three_points():
    states = [{"w": torch.randn(50, generator=torch.Generator().manual_seed(seed))} for seed in range(3)]
    distances, plane, explained = project(["w"], states)
    for first in range(3):
        for second in range(3):
            true = (states[first]["w"] - states[second]["w"]).double().norm().item()
            assert np.linalg.norm(plane[first] - plane[second]) == pytest.approx(true, abs=1e-5)
    assert distances[0] == pytest.approx(np.linalg.norm(plane[0] - plane[1]), rel=1e-5)
    assert explained[0] >= explained[1]


def test_models_of_dartboard_take_images():
    model, given = random_model(), images()
    moved = {
        name: value * 1.1 if value.is_floating_point() else value
        for name, value in model.net.state_dict().items()
    }
    line = loss_line(model, [model.net.state_dict(), moved], given, points=2, beyond=0)
    assert line.losses[0] == pytest.approx(F.cross_entropy(model.net(normalized(given)), given.labels).item())


def test_what_does_not_fit_is_said():
    [first, second], data = nets(), pair()
    state = first.state_dict()
    with pytest.raises(OptionError, match="two states of a network or more, not 1"):
        loss_line(first, [state], data)
    with pytest.raises(OptionError, match=r"network 2 is of another architecture: its 4\.bias is missing"):
        loss_line(first, [state, {name: value for name, value in state.items() if name != "4.bias"}], data)
    with pytest.raises(OptionError, match="points=1"):
        loss_line(first, [state, second.state_dict()], data, points=1)
    with pytest.raises(OptionError, match="takes statistics from training images"):
        loss_line(first, [state, second.state_dict()], data, statistics="fresh")
