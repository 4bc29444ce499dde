from random import Random

import pytest
import torch

from dartboard.data import Batch
from dartboard.data.sampler import generator
from dartboard.train.build import mix


def batch(size=6):
    return Batch(torch.randn(size, 3, 4, 4, generator=generator("mixup test")), torch.arange(size) % 4)


def test_images_and_labels_are_mixed_in_the_same_shares():
    own = batch()
    x, y = mix(own, 0.4, classes=4, seed=1, step=2)
    share = Random("mixup 1 2").betavariate(0.4, 0.4)
    other = torch.randperm(6, generator=generator(1, "mixup", 2))
    for place in range(6):
        partner = int(other[place])
        torch.testing.assert_close(x[place], share * own.x[place] + (1 - share) * own.x[partner])
        expected = torch.zeros(4)
        expected[own.y[place]] += share
        expected[own.y[partner]] += 1 - share
        torch.testing.assert_close(y[place], expected)
    torch.testing.assert_close(y.sum(1), torch.ones(6))


def test_what_is_drawn_depends_on_seed_and_step_alone():
    own = batch()
    state = torch.get_rng_state()
    first = mix(own, 1.0, classes=4, seed=1, step=2)
    assert all(map(torch.equal, first, mix(own, 1.0, classes=4, seed=1, step=2)))
    assert torch.equal(torch.get_rng_state(), state)
    for seed, step in ((1, 3), (2, 2)):
        assert not torch.equal(first[0], mix(own, 1.0, classes=4, seed=seed, step=step)[0])


@pytest.mark.parametrize(("alpha", "spread"), [(0.1, 0.4), (10.0, 0.15)])
def test_alpha_is_that_of_the_beta_distribution(alpha, spread):
    """Beta(a, a) has mean 1/2 and variance 1 / (4 (2a + 1))."""
    one = Batch(torch.ones(1, 1, 1, 1), torch.zeros(1, dtype=torch.int64))
    two = Batch(torch.cat([one.x, 0 * one.x]), torch.tensor([0, 1]))
    shares = []
    for step in range(2000):
        x, _ = mix(two, alpha, classes=2, seed=0, step=step)
        shares.append(float(x[0]))
    mixed = torch.tensor([share for share in shares if share < 1])
    assert float((mixed - 0.5).square().mean().sqrt()) == pytest.approx(spread, abs=0.1)
