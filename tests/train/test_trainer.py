"""The training loop: what it promises, on trainings of eight steps."""

import math
from dataclasses import replace
from functools import cache

import pytest
import torch

import dartboard.nn.cell
from dartboard.data import Dataset, ImageSet
from dartboard.engine.step import Stepper
from dartboard.errors import CheckpointError, CompositionError, DataError, DivergedError, SpaceError, Stopped
from dartboard.nn import count_flops, count_parameters, load_model
from dartboard.nn.model_file import BEST, LAST
from dartboard.space import get_space
from dartboard.tasks import measure
from dartboard.train import Trainer, TrainHook, TrainOptions
from helpers import torchvision_shim
from helpers.loop_cases import Compiled, Kernels, StopAt, reopen
from helpers.search_cases import leaves, nested
from helpers.train_cases import cells, digits, train


@cache
def digest() -> str:
    """What the short training comes to."""
    return train().fit().digest


# Options


OTHER = {
    "epochs": 3,
    "schedule_history": [{"until": 2, "epochs": 5}],
    "batch": 12,
    "pieces": 2,
    "seed": 1,
    "precision": "bf16",
    "net.channels": 8,
    "net.cells": 2,
    "net.stem": "half",
    "net.auxiliary": 0.4,
    "net.drop_path": 0.3,
    "data.valid": 0.2,
    "data.pad": 0,
    "data.flip": True,
    "data.cutout": 2,
    "data.area": 0.5,
    "data.mixup": 0.5,
    "weights.lr": 0.02,
    "weights.lr_end": 0.02,
    "weights.schedule": "constant",
    "weights.by": "step",
    "weights.power": 10.0,
    "weights.cycles": 2,
    "weights.warmup": 2,
    "weights.ema": 0.5,
    "weights.momentum": 0.5,
    "weights.nesterov": True,
    "weights.weight_decay": 0.1,
    "weights.clip": 0.1,
    "weights.smoothing": 0.2,
}
"""Options that change what comes out, each with a value that is not the default."""

WITH = {
    "net.drop_path_schedule": ({"net": {"drop_path": 0.3}}, "constant"),
    "data.seed": ({"data": {"valid": 0.2}}, 1),
    "weights.cycle_decay": ({"weights": {"cycles": 2}}, 0.5),
}
"""Options that change what comes out beside others."""

BESIDE = {
    "compile",
    "deterministic",
    "sync_norms",
    "net.mix",
    "net.channels_last",
    "data.workers",
    "data.autoaugment",
    "evaluation.every",
    "checkpoint.seconds",
    "checkpoint.steps",
    "checkpoint.keep",
}
"""Options that must not change what comes out, or are tested where they are at home."""


def both(first: dict, second: dict) -> dict:
    keys = first.keys() | second.keys()
    return {key: {**first.get(key, {}), **second.get(key, {})} for key in keys}


def test_every_option_is_tested():
    assert set(OTHER) | set(WITH) | BESIDE == set(leaves(TrainOptions))


@pytest.mark.parametrize("name", OTHER)
def test_every_option_changes_the_result(name):
    assert train(**nested(name, OTHER[name])).fit().digest != digest()


@pytest.mark.parametrize("name", WITH)
def test_options_change_the_result_beside_others(name):
    beside, value = WITH[name]
    assert train(**both(beside, nested(name, value))).fit().digest != train(**beside).fit().digest


@pytest.mark.parametrize("last", [True, False])
def test_weights_lie_in_memory_as_asked(last):
    trainer = train(net={"channels_last": last, "channels": 8})
    weights = [own for own in trainer.net.parameters() if own.dim() == 4 and min(own.shape) > 1]
    assert weights
    for _ in range(2):
        lying = {own.is_contiguous(memory_format=torch.channels_last) for own in weights}
        assert lying == {last}
        trainer.fit()
    assert train(net={"channels_last": last}).fit().last["test"].top1 == train().fit().last["test"].top1


@pytest.mark.parametrize(("mix", "unused"), [("plain", "fused_nodes"), ("fused", "plain_nodes")])
def test_the_path_is_the_one_asked_for(mix, unused, monkeypatch):
    monkeypatch.setattr(dartboard.nn.cell, unused, None)
    train(net={"mix": mix}).fit()


def test_compiling_is_left_to_torch(monkeypatch):
    monkeypatch.setattr(torch, "compile", Compiled)
    trainer = train(compile=True)
    assert trainer.fit().digest == train(net={"mix": "plain"}).fit().digest
    assert trainer.objective.forward.calls == 8


def test_deterministic_kernels_are_asked_for_while_it_runs():
    for wanted in (True, False):
        kernels = Kernels()
        assert train(deterministic=wanted, hooks=[kernels]).fit().digest == digest()
        assert kernels.seen == {wanted}


def test_learned_changes_to_images_change_the_result():
    if not torchvision_shim.torchvision_available():
        pytest.skip("needs torchvision")
    assert train(data={"autoaugment": "cifar10", "workers": 0}).fit().digest != digest()


def test_a_training_in_half_precision_keeps_its_gradients_in_range():
    trainer = train(precision="fp16")
    assert trainer.stepper.scaler is not None
    trainer.fit()
    assert all(own.dtype is torch.float32 for own in trainer.net.parameters())


def test_epochs_that_are_not_measured(run):
    train(run=run, epochs=5, evaluation={"every": 2}).fit()
    assert ["test_accuracy" in row for row in run.metrics()] == [False, True, False, True, True]
    assert run.epoch(0)["per_class"] is None
    assert len(run.epoch(1)["per_class"]) == 10


# The step, against an independent one


def test_a_step_is_that_of_sgd_by_hand():
    options = {"weights": {"clip": 0.0, "momentum": 0.0, "weight_decay": 0.01, "lr": 0.1}, "batch": 16}
    trainer, other = train(**options), train(**options)
    x, y = other.loaders.train.batch(0)
    other.net.train()
    torch.nn.functional.cross_entropy(other.net(x), y).backward()
    trainer._start_epoch()
    trainer.train_step()
    for own, expected in zip(trainer.net.parameters(), other.net.parameters(), strict=True):
        slope = torch.zeros_like(expected) if expected.grad is None else expected.grad
        torch.testing.assert_close(own, expected - 0.1 * (slope + 0.01 * expected))


def test_mixed_labels_and_smoothing_are_those_of_the_formula(monkeypatch):
    trainer = train(data={"mixup": 1.0}, weights={"smoothing": 0.1})
    batch, steps, metered = trainer.loaders.train.batch(0), [], []

    def weight_step(examples, step=trainer.stepper.weight_step):
        steps.append((examples, step(examples)))
        return steps[-1][1]

    monkeypatch.setattr(trainer.stepper, "weight_step", weight_step)
    monkeypatch.setattr(trainer.meter, "add", lambda *measured: metered.append(measured))
    trainer._start_epoch()
    trainer.train_step()
    [((x, shares), (loss, logits))], [(_, _, labels, _)] = steps, metered
    assert torch.equal(labels, batch.y)
    assert not torch.equal(x, batch.x)
    smooth = 0.9 * shares + 0.1 / 10
    expected = -(smooth * logits.log_softmax(1)).sum(1).mean()
    torch.testing.assert_close(loss, expected)


class Watch(TrainHook):
    """Notes learning rate and drop-path of every step."""

    def __init__(self):
        self.rates, self.drops = [], []

    def on_step_end(self, loop):
        self.rates.append(loop.optimizer.param_groups[0]["lr"])
        self.drops.append(loop.net.drop_path)


def test_drop_path_grows_with_the_epochs_from_nothing():
    linear, constant = Watch(), Watch()
    train(epochs=4, net={"drop_path": 0.2}, hooks=[linear]).fit()
    train(epochs=4, net={"drop_path": 0.2, "drop_path_schedule": "constant"}, hooks=[constant]).fit()
    assert linear.drops == pytest.approx([0.2 * (step // 4) / 4 for step in range(16)])
    assert constant.drops == [0.2] * 16


def test_the_learning_rate_changes_every_epoch_or_every_step():
    by_epoch, by_step = Watch(), Watch()
    train(weights={"lr": 0.1}, hooks=[by_epoch]).fit()
    train(weights={"lr": 0.1, "by": "step"}, hooks=[by_step]).fit()
    assert by_epoch.rates == pytest.approx(
        [0.1 * (1 + math.cos(math.pi * (t // 4) / 2)) / 2 for t in range(8)]
    )
    assert by_step.rates == pytest.approx([0.1 * (1 + math.cos(math.pi * t / 8)) / 2 for t in range(8)])


def test_the_average_is_that_of_the_formula():
    """Avg <- d avg + (1 - d) w after every step, starting from the weights of the first."""
    weights = []

    class Keep(TrainHook):
        def on_step_end(self, loop):
            weights.append({name: own.detach().clone() for name, own in loop.net.state_dict().items()})

    trainer = train(weights={"ema": 0.9}, hooks=[Keep()])
    trainer.fit()
    expected = weights[0]
    for state in weights[1:]:
        for name, own in state.items():
            expected[name] = torch.lerp(expected[name], own, 0.1) if own.is_floating_point() else own
    found = trainer.used_net.state_dict()
    floats = [name for name in expected if expected[name].is_floating_point()]
    assert floats
    for name in floats:
        torch.testing.assert_close(found[name], expected[name])
    assert trainer.used_net is not trainer.net
    assert any(not torch.equal(found[name], weights[-1][name]) for name in floats)


# Images


def with_valid() -> Dataset:
    data = digits()
    return replace(data, valid=data.train.take(torch.arange(10)), train=data.train.take(torch.arange(10, 64)))


def test_what_is_held_out():
    assert set(train().loaders.held_out) == {"test"}
    assert train().measured_on == "test"
    shared = train(data={"valid": 0.25})
    assert {part: len(own) for part, own in shared.loaders.held_out.items()} == {"valid": 16, "test": 40}
    assert shared.measured_on == "valid"
    assert shared.loaders.train.steps == 3
    own = train(data_set=with_valid())
    assert {part: len(images) for part, images in own.loaders.held_out.items()} == {"valid": 10, "test": 40}
    alone = train(data_set=digits(test=0))
    assert {part: len(images) for part, images in alone.loaders.held_out.items()} == {"valid": 6}


def test_held_out_images_are_not_trained_on():
    trainer = train(data={"valid": 0.25})
    held, kept = trainer.loaders.held_out["valid"], trainer.loaders.train.images
    both = [{image.numpy().tobytes() for image in own.images} for own in (held, kept)]
    assert not both[0] & both[1]


def test_nothing_to_measure_with_is_an_error():
    with pytest.raises(DataError, match="no images of 'few digits' are left to measure with"):
        train(data_set=digits(test=0), data={"valid": 0.0})
    with pytest.raises(DataError, match="holds out none"):
        train(data={"valid": 0.001})


def test_one_class_is_an_error():
    data = digits()
    one = data.train.take((data.train.labels == 3).nonzero().flatten())
    with pytest.raises(DataError, match="of one class, '3'"):
        train(data_set=Dataset("threes", data.classes, one, data.test), batch=2)


def test_choices_that_are_left_are_an_error():
    with pytest.raises(CompositionError, match="'nano' leaves something to choose"):
        train(space=get_space("nano"))


def test_unshared_cells_cannot_be_more():
    with pytest.raises(SpaceError, match="cannot have 3"):
        train(space=cells("asm"), net={"cells": 3})


# What comes out


def test_the_result_says_how_large_and_how_good(run):
    trainer = train(run=run)
    result = trainer.fit()
    assert result.parameters == count_parameters(trainer.net)
    assert result.flops == count_flops(trainer.space, trainer.net.config)
    assert result.measured_on == "test"
    test = trainer.loaders.held_out["test"]
    trainer.net.eval()
    mean, std = (torch.tensor(own)[:, None, None] for own in (trainer.data.mean, trainer.data.std))
    expected = measure(trainer.net, [((test.images - mean) / std, test.labels)], 10)
    assert result.last["test"].top1 == expected.top1
    assert torch.equal(result.last["test"].confusion, expected.confusion)
    assert run.result() == result.facts()
    rows = run.metrics()
    assert rows[-1]["test_accuracy"] == result.last["test"].top1
    best = max(range(2), key=lambda epoch: rows[epoch]["test_accuracy"])
    assert result.best_epoch == best
    assert result.best["test"].top1 == rows[best]["test_accuracy"]
    assert len(run.result()["last"]["test"]["confusion"]) == 10


def test_the_models_are_the_networks_of_their_epochs(run):
    states = []

    class Keep(TrainHook):
        def on_epoch_end(self, loop, _):
            states.append({name: own.clone() for name, own in loop.net.state_dict().items()})

    result = train(run=run, epochs=4, hooks=[Keep()], facts={"cell": "mine"}, weights={"lr": 0.2}).fit()
    for name, epoch in ((BEST, result.best_epoch), (LAST, 3)):
        model = load_model(run.path / name)
        found = model.net.state_dict()
        assert all(torch.equal(found[key], own) for key, own in states[epoch].items())
        assert model.facts["epoch"] == epoch
        assert model.facts["cell"] == "mine"
        assert model.facts["accuracy"] == run.metrics()[epoch]["test_accuracy"]
        assert model.classes == tuple("0123456789")
        assert model.mean == digits().mean
        assert model.std == digits().std


def test_the_best_stays_the_first_of_equals(run):
    """A rate of almost nothing changes nothing that is measured."""
    result = train(run=run, epochs=3, weights={"lr": 1e-12, "weight_decay": 0.0, "momentum": 0.0}).fit()
    accuracies = [row["test_accuracy"] for row in run.metrics()]
    assert result.best_epoch == accuracies.index(max(accuracies))


def test_another_data_set_another_stem():
    """A cell found on one kind of image builds for another."""
    chance = torch.Generator().manual_seed(0)
    labels = torch.arange(24) % 3
    for size, stem in ((64, "half"), (128, "auto")):
        pixels = torch.randint(256, (24, 3, size, size), generator=chance, dtype=torch.uint8)
        data = Dataset("noise", ("a", "b", "c"), ImageSet(pixels, labels), ImageSet(pixels, labels))
        trainer = train(
            space=cells("darts"), data_set=data, epochs=1, batch=8, net={"stem": stem, "cells": 3}
        )
        assert trainer.fit().last["test"].examples == 24
        assert trainer.net.stem.scales[-1] == {64: 2, 128: 8}[size]


# Stopping and going on


@pytest.mark.parametrize("step", [1, 4, 7, 8])
@pytest.mark.parametrize(
    "more", [{}, {"weights": {"ema": 0.9}, "net": {"drop_path": 0.3}, "data": {"mixup": 1}}]
)
def test_a_stopped_training_goes_on_to_the_last_bit(run, step, more):
    expected = train(**more).fit()
    with pytest.raises(Stopped, match=f"stopped after step {step} of 8"):
        train(run=run, hooks=[StopAt(step)], **more).fit()
    with reopen(run) as reopened:
        found = train(run=reopened, **more).fit()
    assert replace(found, seconds=0).facts() == replace(expected, seconds=0).facts()


def test_a_state_of_another_network_is_refused(run):
    with pytest.raises(Stopped):
        train(run=run, hooks=[StopAt(2)]).fit()
    with reopen(run) as reopened:
        with pytest.raises(CheckpointError, match="of other settings: space"):
            train(run=reopened, space=cells(seed=2)).fit()
        with pytest.raises(CheckpointError, match=r"of other settings: net\.channels was 4, is 8"):
            train(run=reopened, net={"channels": 8}).fit()
        with pytest.raises(CheckpointError, match="the images are not those"):
            train(run=reopened, data_set=digits(train=63)).fit()
        assert train(run=reopened).fit().digest == digest()


OUT = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"


def test_a_training_that_runs_out_of_memory_goes_on_in_pieces(monkeypatch):
    step = Stepper.weight_step

    def fail_whole(self, batch):
        if self.objective.micro_batches == 1:
            raise RuntimeError(OUT)
        return step(self, batch)

    monkeypatch.setattr(Stepper, "weight_step", fail_whole)
    trainer = train(weights={"ema": 0.9})
    found = trainer.fit()
    monkeypatch.undo()
    assert trainer.objective.micro_batches == 2
    assert found.digest == train(weights={"ema": 0.9}, pieces=2).fit().digest


def test_a_training_that_diverges_says_so():
    with pytest.raises(DivergedError, match=r"smaller weights\.lr"):
        train(weights={"lr": 1e20, "clip": 0.0}).fit()


def test_torchs_own_chance_is_left_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    trainer = train(net={"drop_path": 0.3})
    trainer.fit()
    assert torch.equal(torch.get_rng_state(), before)


def test_measuring_does_not_change_the_training():
    few, often = ({"evaluation": {"every": every}, "net": {"drop_path": 0.2}} for every in (9, 1))
    assert train(**few).fit().digest == train(**often).fit().digest


@pytest.mark.usefixtures("without_checksums")
def test_a_trainer_needs_nothing_but_cells_and_images():
    chance = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (100, 3, 32, 32), generator=chance, dtype=torch.uint8)
    images = ImageSet(pixels, torch.arange(100) % 10)
    trainer = Trainer(cells(), Dataset("noise", tuple("0123456789"), images, images))
    assert trainer.plan.epochs == 600
    assert trainer.net.config.channels == 36


class DamageBest(TrainHook):
    """Empties the file of the best network before the end."""

    def on_select(self, trainer):
        (trainer.run.path / BEST).write_bytes(b"")


def test_a_training_whose_best_network_was_damaged_still_ends(run, caplog):
    with pytest.raises(Stopped):
        train(run=run, hooks=[StopAt(8)]).fit()
    with reopen(run) as reopened:
        found = train(run=reopened, hooks=[DamageBest()]).fit()
    assert "the best network is lost" in caplog.text
    assert found.best["test"].top1 == found.last["test"].top1
    assert found.best_epoch == 1
