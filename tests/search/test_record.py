import json
from random import Random

import pytest
import torch

from dartboard.nn import one_hot
from dartboard.runs import digest
from dartboard.search import Hook
from dartboard.search.health import accuracy
from dartboard.search.record import conclude, measure_epoch
from dartboard.space import sample
from dartboard.space.formats import GENOTYPE_FORMATS
from helpers.search_cases import differences, search, snapshot

METRICS = {
    "step", "seconds", "lr", "train_loss", "train_accuracy", "arch_loss", "valid_accuracy", "entropy",
    "pieces", "arch_lr", "cells", "discrete_accuracy", "warnings",
}  # fmt: skip


def trained(method="gaea-darts", **more):
    searcher = search(method, **more)
    for _ in range(2):
        searcher.train_step()
    return searcher


def test_an_epoch_in_numbers():
    searcher = trained()
    record = measure_epoch(searcher)
    assert record.metrics.keys() == METRICS
    assert record.epoch == 0
    assert record.metrics["step"] == 2
    assert record.metrics["lr"] == 0.025
    assert record.metrics["train_loss"] == searcher.meter.read()["train_loss"]
    relaxation, objective = searcher.relaxation, searcher.objective
    assert record.metrics["valid_accuracy"] == accuracy(objective, relaxation, searcher.valid_batches())
    fixed = one_hot(searcher.space, record.genotype)
    assert record.metrics["discrete_accuracy"] == accuracy(objective, lambda: fixed, searcher.valid_batches())
    assert json.loads(json.dumps(record.metrics)) == record.metrics


def test_details_are_plain_and_complete():
    searcher = trained()
    record = measure_epoch(searcher)
    details = json.loads(json.dumps(record.details()))
    assert details["epoch"] == 0
    ops = searcher.relaxation.strengths()["cell"].ops
    assert torch.equal(torch.tensor(details["strengths"]["cell"]["ops"]), ops)
    assert GENOTYPE_FORMATS["json"].decode(json.dumps(details["genotype"])) == record.genotype


class Preview:
    """Draws one architecture and notes with what chance."""

    def __init__(self):
        self.chance = []

    def __call__(self, objective, _valid, rng):
        self.chance.append(rng.getstate())
        return sample(objective.net.space, rng)


def test_the_preview_is_asked_if_there_is_one_and_has_the_chance_of_its_epoch():
    searcher, preview = trained("random-ws", method_options={"samples": 1}), Preview()
    object.__setattr__(searcher.method, "preview", preview)
    first, again = measure_epoch(searcher), measure_epoch(searcher)
    assert first.genotype == again.genotype == sample(searcher.space, Random("0 epoch 0"))
    searcher.epoch = 1
    measure_epoch(searcher)
    assert preview.chance[0] == preview.chance[1] != preview.chance[2]


@pytest.mark.parametrize("method", ["gaea-darts", "gdas", "asm", "random-ws"])
def test_measuring_and_concluding_change_nothing(method):
    options = {"samples": 2, "epoch_samples": 2} if method == "random-ws" else {}
    searcher = trained(method, method_options=options, health={"hessian": True}, net={"drop_path": 0.2})
    before, chance = snapshot(searcher.objective), torch.get_rng_state()
    measure_epoch(searcher)
    conclude(searcher)
    assert differences(snapshot(searcher.objective), before) == []
    assert torch.equal(torch.get_rng_state(), chance)
    assert (searcher.epoch, searcher.step) == (0, 2)


def test_curvature_is_measured_on_request_where_there_is_some():
    assert measure_epoch(trained(health={"hessian": True})).metrics["hessian"] > -1e3
    assert "hessian" not in measure_epoch(trained("asm", health={"hessian": True})).metrics


def test_the_result_is_what_there_is():
    searcher = trained()
    result = conclude(searcher)
    strengths = searcher.relaxation.strengths()["cell"]
    everything = {
        "net": dict(searcher.net.state_dict()),
        "strengths": {"cell": {"ops": strengths.ops, "edges": strengths.edges}},
    }
    assert result.digest == digest(everything)
    assert result.epochs == 0
    assert result.valid_accuracy == accuracy(
        searcher.objective, searcher.relaxation, searcher.valid_batches()
    )
    chosen = one_hot(searcher.space, result.genotype)
    assert result.discrete_accuracy == accuracy(searcher.objective, lambda: chosen, searcher.valid_batches())
    facts = json.loads(json.dumps(result.facts()))
    assert GENOTYPE_FORMATS["json"].decode(json.dumps(facts["genotype"])) == result.genotype
    assert facts["warnings"] == list(result.warnings)
    assert facts["arch_lr"] == float(searcher.update.lr(searcher.update.param_groups[0])) > 0
    assert facts.keys() == {
        "genotype", "epochs", "seconds", "entropy", "valid_accuracy", "discrete_accuracy", "digest",
        "arch_lr", "warnings",
    }  # fmt: skip


def test_the_digest_sees_every_weight_and_strength():
    searcher = trained()
    before = conclude(searcher).digest
    searcher.relaxation.arch_parameters()[0].data[0, 0] += 1e-6
    after = conclude(searcher).digest
    searcher.net.slots[0].edges[0]["nor_conv_1x1"].norm.num_batches_tracked += 1
    assert len({before, after, conclude(searcher).digest}) == 3


def test_nothing_trained_is_nothing_measured():
    result = search("random").fit()
    assert result.valid_accuracy is None
    assert result.epochs == 0
    assert not any("hardly moved" in warning for warning in result.warnings)


class Warned(Hook):
    def __init__(self):
        self.seen = []

    def on_epoch_end(self, _searcher, record):
        self.seen.append((record.warnings, record.metrics["warnings"]))


def test_the_last_epoch_is_judged_as_the_end():
    """Strengths that hardly moved are nothing to worry about before."""
    warned = Warned()
    result = search("darts", method_options={"lr": 3e-4}, hooks=[warned]).fit()
    assert warned.seen[0] == ((), [])
    assert "hardly moved" in warned.seen[1][0][0]
    assert warned.seen[1][1] == list(warned.seen[1][0])
    assert result.warnings == warned.seen[1][0]


@pytest.mark.parametrize("method", ["xnas", "gaea-gdas", "gdas", "gaea-pc-darts", "asm"])
def test_the_hessian_stops_no_search(method):
    options = {"warmup": 0} if "pc" in method else {"zeta": 0.01} if method == "xnas" else {}
    searcher = search(method, method_options=options, health={"hessian": True})
    assert searcher.fit().epochs == searcher.plan.epochs
