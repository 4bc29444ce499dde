import json

import pytest
import torch

from dartboard.engine.step import Meter

LOGITS = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0], [0.0, 1.0]])


def filled() -> Meter:
    meter = Meter(torch.device("cpu"))
    meter.add(torch.tensor(1.0), LOGITS, torch.tensor([0, 1, 0, 0]), torch.tensor(4.0))
    meter.add(torch.tensor(2.0), LOGITS, torch.tensor([0, 0, 1, 0]), None)
    return meter


def test_means_are_over_the_steps_that_had_the_number():
    assert filled().read() == {"train_loss": 1.5, "train_accuracy": pytest.approx(0.5), "arch_loss": 4.0}


def test_what_was_never_seen_is_not_there():
    meter = Meter(torch.device("cpu"))
    assert meter.read() == {}
    meter.add(torch.tensor(1.0), LOGITS, torch.tensor([0, 1, 0, 1]), None)
    assert meter.read() == {"train_loss": 1.0, "train_accuracy": 1.0}


def test_it_adds_up_in_single_precision_whatever_it_is_given():
    meter = Meter(torch.device("cpu"))
    meter.add(torch.tensor(1.0, dtype=torch.float64), LOGITS.double(), torch.tensor([0, 1, 0, 1]), None)
    assert meter.sums.dtype == torch.float32


def test_another_goes_on_from_its_state():
    meter, other = filled(), Meter(torch.device("cpu"))
    other.load_state_dict(meter.state_dict())
    assert other.read() == meter.read()
    other.add(torch.tensor(3.0), LOGITS, torch.tensor([0, 1, 0, 1]), torch.tensor(6.0))
    assert other.read()["train_loss"] == 2.0
    assert other.read()["arch_loss"] == 5.0
    assert meter.read()["train_loss"] == 1.5


def test_numbers_are_plain():
    assert json.loads(json.dumps(filled().read())) == filled().read()
