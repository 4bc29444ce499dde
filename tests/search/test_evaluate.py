import pytest
import torch

from dartboard.search.evaluate import accuracy
from searching import batch, differences, problem, snapshot

RELAXATIONS = ["softmax", "gumbel-softmax", "attention", "random"]


def test_the_share_that_is_right_over_all_images_in_evaluation_mode():
    task = problem()
    given = [batch(0, 7), batch(1, 2), batch(2, 4)]
    found = accuracy(task, task.relaxation, given)
    task.net.eval()
    right = [
        int(task.net(x[None], task.relaxation()).argmax() == y)
        for xs, ys in given
        for x, y in zip(xs, ys, strict=True)
    ]
    assert 0 < sum(right) < 13
    assert found == sum(right) / 13


@pytest.mark.parametrize("relax", RELAXATIONS)
@pytest.mark.parametrize("training", [True, False])
def test_no_trace_is_left(relax, training):
    task = problem(relax=relax, drop_path=0.3)
    task.loss(batch(2))
    task.net.train(training)
    task.relaxation.train(not training)
    before, chance = snapshot(task), torch.get_rng_state()
    found = {accuracy(task, task.relaxation, [batch(0, 8), batch(1, 8)]) for _ in range(2)}
    assert len(found) == 1
    assert differences(snapshot(task), before) == []
    assert torch.equal(torch.get_rng_state(), chance)


def test_no_trace_is_left_by_an_error():
    task = problem(relax="gumbel-softmax")
    before = snapshot(task)

    def broken():
        task.relaxation()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        accuracy(task, broken, [batch(0)])
    assert differences(snapshot(task), before) == []


def test_every_batch_has_a_mixture_of_its_own():
    task, made = problem(), []
    accuracy(task, lambda: made.append(1) or task.relaxation(), [batch(0), batch(1), batch(2)])
    assert len(made) == 3
