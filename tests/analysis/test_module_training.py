"""Modules that are trained side by side."""

import json
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dartboard.analysis.module_training import ModuleTraining, compare_modules
from dartboard.data.sampler import generator
from dartboard.errors import OptionError, RunError

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = ModuleTraining(epochs=2, batch=6, weight_decay=0.01)


def linear() -> nn.Module:
    return nn.Linear(4, 3)


def deep() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


BOTH = {"linear": linear, "deep": deep}


def data(seed: int = 0) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    rng = torch.Generator().manual_seed(seed)
    x = torch.randn(40, 4, generator=rng)
    y = x[:, :3].argmax(1)
    return (x[:30], y[:30]), (x[30:], y[30:])


def test_it_is_plain_sgd_on_batches_that_all_share() -> None:
    found = compare_modules(BOTH, data(), SHORT, lrs=[0.1], seeds=[5])
    (x, y), (test_x, test_y) = data()
    torch.manual_seed(5)
    net = linear()
    momenta = [torch.zeros_like(weight) for weight in net.parameters()]
    for epoch in range(2):
        lr = 0.1 * (1 + math.cos(math.pi * epoch / 2)) / 2
        total = 0.0
        for places in torch.randperm(30, generator=generator("order", 5, epoch)).split(6):
            loss = F.cross_entropy(net(x[places]), y[places])
            grads = torch.autograd.grad(loss, list(net.parameters()))
            total += loss.item() * 6 / 30
            with torch.no_grad():
                for weight, momentum, grad in zip(net.parameters(), momenta, grads, strict=True):
                    momentum.mul_(0.9).add_(grad + 0.01 * weight)
                    weight.sub_(lr * momentum)
        [training] = found.of("linear")
        assert training.curves["train_loss"].values[epoch] == pytest.approx(total, rel=1e-5)
        assert training.curves["loss"].values[epoch] == pytest.approx(
            F.cross_entropy(net(test_x), test_y).item(), rel=1e-5
        )
    assert training.curves["accuracy"].final == (net(test_x).argmax(1) == test_y).double().mean().item()
    assert found.parameters == {"linear": 15, "deep": 40 + 16 + 27}


def test_finished_trainings_are_read_and_more_are_added(tmp_path: Path) -> None:
    state = torch.get_rng_state()
    first = compare_modules(BOTH, data(), SHORT, folder=tmp_path)
    assert torch.equal(torch.get_rng_state(), state)
    built = []
    told: list[tuple[str, int, int]] = []
    factories = {"linear": linear, "deep": lambda: built.append(1) or deep(), "other": linear}
    again = compare_modules(
        factories, data(), SHORT, seeds=(0, 1), folder=tmp_path, progress=lambda *words: told.append(words)
    )
    assert [again.of(name)[0] for name in BOTH] == [first.of(name)[0] for name in BOTH]
    assert len(list((tmp_path / "modules").iterdir())) == 6
    assert told[-1] == ("training", 12, 12)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert again.band("deep").std.any()
    facts = json.loads(json.dumps(again.facts(), allow_nan=False))
    assert facts["cells"]["linear"] == {"parameters": 15}
    assert again.plot().legends[0].get_title().get_text() == "bands: mean +- 1 std over seeds"
    for arguments, message in (
        ((BOTH, data(1), SHORT), "with other images"),
        (({"linear": lambda: nn.Linear(4, 3, bias=False)}, data(), SHORT), "with another network"),
        ((BOTH, data(), ModuleTraining(epochs=3, batch=6, weight_decay=0.01)), "with epochs=2"),
    ):
        with pytest.raises(RunError, match=message):
            compare_modules(*arguments, folder=tmp_path)
    next((tmp_path / "modules").iterdir()).write_text("{")
    with pytest.raises(RunError, match="is damaged"):
        compare_modules(factories, data(), SHORT, seeds=(0, 1), folder=tmp_path)


def test_a_training_that_breaks_off_is_a_result(tmp_path: Path) -> None:
    plain = ModuleTraining(epochs=3, batch=6, clip=0.0)
    found = compare_modules({"linear": linear}, data(), plain, lrs=[1e38], folder=tmp_path)
    [training] = found.of("linear")
    assert training.fault is not None
    assert "not finite" in training.fault
    assert compare_modules({"linear": linear}, data(), plain, lrs=[1e38], folder=tmp_path).of("linear") == [
        training
    ]


def test_what_does_not_fit_is_said() -> None:
    for factories, options, message in (
        ({}, {}, "nothing to compare"),
        ({"a b": linear}, {}, "cannot be labeled 'a b'"),
        (BOTH, {"lrs": [0.0]}, "a learning rate is above 0, not 0.0"),
        ({"five": lambda: nn.Linear(5, 3)}, {}, "cannot take examples of shape"),
        ({"two": lambda: nn.Linear(4, 2)}, {}, "a label 2, but the network has 2 classes"),
    ):
        with pytest.raises(OptionError, match=message):
            compare_modules(factories, data(), SHORT, **options)
    with pytest.raises(OptionError, match="epochs and batch are 1 or more, not 0 and 80"):
        ModuleTraining(epochs=0)
