import pytest
import torch

from dartboard.search.evaluate import accuracy
from helpers.search_cases import batch, differences, random_objective, snapshot

RELAXATIONS = ["softmax", "gumbel-softmax", "attention", "random"]


def test_the_share_that_is_right_over_all_images_in_evaluation_mode():
    objective = random_objective()
    given = [batch(0, 7), batch(1, 2), batch(2, 4)]
    found = accuracy(objective, objective.relaxation, given)
    objective.net.eval()
    right = [
        int(objective.net(x[None], objective.relaxation()).argmax() == y)
        for xs, ys in given
        for x, y in zip(xs, ys, strict=True)
    ]
    assert 0 < sum(right) < 13
    assert found == sum(right) / 13


@pytest.mark.parametrize("relax", RELAXATIONS)
@pytest.mark.parametrize("training", [True, False])
def test_no_trace_is_left(relax, training):
    objective = random_objective(relax=relax, drop_path=0.3)
    objective.loss(batch(2))
    objective.net.train(training)
    objective.relaxation.train(not training)
    before, chance = snapshot(objective), torch.get_rng_state()
    found = {accuracy(objective, objective.relaxation, [batch(0, 8), batch(1, 8)]) for _ in range(2)}
    assert len(found) == 1
    assert differences(snapshot(objective), before) == []
    assert torch.equal(torch.get_rng_state(), chance)


def test_no_trace_is_left_by_an_error():
    objective = random_objective(relax="gumbel-softmax")
    before = snapshot(objective)

    def broken():
        objective.relaxation()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        accuracy(objective, broken, [batch(0)])
    assert differences(snapshot(objective), before) == []


def test_every_batch_has_a_mixture_of_its_own():
    objective, made = random_objective(), []
    accuracy(objective, lambda: made.append(1) or objective.relaxation(), [batch(0), batch(1), batch(2)])
    assert len(made) == 3
