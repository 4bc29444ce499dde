import torch
import torch.nn.functional as F

from dartboard.tasks import Classification

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
