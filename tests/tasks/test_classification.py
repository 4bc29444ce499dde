import json
import math

import pytest
import torch
import torch.nn.functional as F

from dartboard.errors import DataError, ModelError
from dartboard.tasks import Classification, Evaluation, measure
from dartboard.tasks.classification import EvaluationCounts
from helpers.networks import no_host_sync

LOGITS = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
HEAD = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
LABELS = torch.tensor([0, 1, 2, 1])


def test_the_loss_is_the_mean_cross_entropy() -> None:
    expected = -LOGITS.log_softmax(1)[torch.arange(4), LABELS].mean()
    torch.testing.assert_close(Classification().loss(LOGITS, LABELS), expected)
    assert torch.equal(Classification().loss((LOGITS,), LABELS), Classification().loss(LOGITS, LABELS))


def test_labels_are_smoothed() -> None:
    logs = LOGITS.log_softmax(1)
    expected = -(0.8 * logs[torch.arange(4), LABELS] + 0.2 * logs.mean(1)).mean()
    torch.testing.assert_close(Classification(smoothing=0.2).loss(LOGITS, LABELS), expected)


def test_the_auxiliary_head_adds_its_weighted_loss() -> None:
    expected = F.cross_entropy(LOGITS, LABELS) + 0.4 * F.cross_entropy(HEAD, LABELS)
    torch.testing.assert_close(Classification(auxiliary=0.4).loss((LOGITS, HEAD), LABELS), expected)


def test_targets_may_be_probabilities() -> None:
    soft = F.one_hot(LABELS, 3).float()
    torch.testing.assert_close(Classification().loss(LOGITS, soft), Classification().loss(LOGITS, LABELS))


def batches(logits, labels, size):
    return list(zip(logits.split(size), labels.split(size), strict=True))


@pytest.fixture
def trial():
    """Logits [50, 7] of which some are right, and labels; the last class has no image."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(6, (50,), generator=generator)
    logits = torch.randn(50, 7, generator=generator) + 2 * F.one_hot(labels, 7)
    return logits, labels


@pytest.mark.parametrize("size", [1, 7, 50])
def test_figures_equal_those_counted_one_by_one(trial, size):
    logits, labels = trial
    found = measure(lambda x: x, batches(logits, labels, size), 7)
    order = [row.argsort(descending=True).tolist() for row in logits]
    top1 = sum(row[0] == label for row, label in zip(order, labels.tolist(), strict=True)) / 50
    top5 = sum(label in row[:5] for row, label in zip(order, labels.tolist(), strict=True)) / 50
    assert 0 < top1 < top5 < 1
    assert (found.top1, found.top5) == (top1, top5)
    assert found.loss == pytest.approx(float(F.cross_entropy(logits, labels)), abs=1e-6)
    assert found.examples == 50
    for true in range(7):
        taken = [row[0] for row, label in zip(order, labels.tolist(), strict=True) if label == true]
        assert found.confusion[true].tolist() == [taken.count(other) for other in range(7)]
        assert found.per_class[true] == (taken.count(true) / len(taken) if taken else None)
    assert found.per_class[6] is None


def test_few_classes_are_all_among_the_first_five():
    found = measure(lambda x: x, [(torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([2]))], 3)
    assert (found.top1, found.top5) == (0.0, 1.0)


def test_facts_are_json(trial):
    logits, labels = trial
    found = measure(lambda x: x, batches(logits, labels, 10), 7)
    facts = json.loads(json.dumps(found.facts(), allow_nan=False))
    assert facts["confusion"] == found.confusion.tolist()
    assert facts["per_class"] == list(found.per_class)
    assert facts["top1"] == found.top1
    assert Evaluation(math.nan, 0.0, 0.0, torch.zeros(2, 2)).facts()["loss"] is None


def test_no_gradient_is_recorded(trial):
    logits, labels = trial
    weight = torch.ones(7, requires_grad=True)
    seen = []
    measure(lambda x: seen.append(x * weight) or seen[-1], batches(logits, labels, 25), 7)
    assert not any(y.requires_grad for y in seen)


@pytest.mark.parametrize("device", ["meta", "cuda"])
def test_batches_never_make_the_host_wait(device):
    with no_host_sync(device):
        counts = EvaluationCounts(7, torch.device(device))
        for _ in range(2):
            counts.add(torch.empty(5, 7), torch.empty(5, dtype=torch.int64))
    assert counts.confusion.shape == (49,)


def test_nothing_to_measure_is_refused():
    with pytest.raises(DataError, match="no images"):
        measure(lambda x: x, [], 3)
    with pytest.raises(DataError, match="no images"):
        measure(lambda x: x, [(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64))], 3)


def test_logits_must_be_as_many_as_classes():
    with pytest.raises(ModelError, match=r"2 images and 4 classes make logits \[2, 4\], not \[2, 3\]"):
        measure(lambda x: x, [(torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64))], 4)
