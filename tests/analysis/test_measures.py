from itertools import combinations

import pytest
import torch
import torch.nn.functional as F

from dartboard.analysis.measures import between_batches, per_example, weights_of
from dartboard.errors import OptionError
from helpers.landscape_cases import gradients, images, normalized, random_model


def loop(net, x, y):
    """The definition: gradients one after the other, and their mean square distance from their mean."""
    rows = torch.stack([gradients(net, x[i : i + 1], y[i : i + 1]) for i in range(len(y))])
    return (rows - rows.mean(0)).square().sum(1).mean().item()


def parts(net, x, y):
    loss = F.cross_entropy(net(x), y)
    return list(torch.autograd.grad(loss, list(weights_of(net).values())))


@pytest.mark.parametrize("space", ["nano", "darts"])
@pytest.mark.parametrize("mix", ["fused", "plain"])
def test_it_is_what_a_loop_gives(space, mix):
    net, own = random_model(space=space, mix=mix).net, images(6)
    x, y = normalized(own), own.labels
    expected = loop(net, x, y)
    assert per_example(net, [(x, y)]).item() == pytest.approx(expected, rel=1e-10)


def test_neither_batches_nor_chunks_matter():
    net, own = random_model().net, images(7)
    x, y = normalized(own), own.labels
    size = 8 * sum(weight.numel() for weight in weights_of(net).values())
    expected = per_example(net, [(x, y)]).item()
    batches = list(zip(x.split(3), y.split(3), strict=True))
    assert per_example(net, batches).item() == pytest.approx(expected, rel=1e-10)
    for room in (0, 2 * size, 3 * size):
        assert per_example(net, [(x, y)], max_bytes=room).item() == pytest.approx(expected, rel=1e-10)


def test_the_same_example_again_and_again_has_none():
    net, own = random_model().net, images(1)
    x, y = normalized(own).repeat(5, 1, 1, 1), own.labels.repeat(5)
    assert per_example(net, [(x, y)]).item() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_rounding_makes_none_negative(seed):
    net, own = random_model(dtype=torch.float32).net, images(1, seed=seed)
    assert per_example(net, [(normalized(own, torch.float32), own.labels)]).item() >= 0


def test_batches_of_one_give_the_same():
    net, own = random_model().net, images(6)
    x, y = normalized(own), own.labels
    single = [parts(net, x[i : i + 1], y[i : i + 1]) for i in range(6)]
    assert between_batches(single, 1).item() == pytest.approx(loop(net, x, y), rel=1e-10)


def divisions(numbers, size):
    """All ways to divide numbers into sets of a size."""
    if not numbers:
        yield []
        return
    first, *rest = numbers
    for others in combinations(rest, size - 1):
        left = [number for number in rest if number not in others]
        yield from ([[first, *others], *more] for more in divisions(left, size))


@pytest.mark.parametrize("size", [2, 3])
def test_the_mean_over_all_divisions_into_batches_is_exact(size):
    net, own = random_model().net, images(6)
    x, y = normalized(own), own.labels
    single = [parts(net, x[i : i + 1], y[i : i + 1]) for i in range(6)]
    ways = list(divisions(list(range(6)), size))
    assert len(ways) == {2: 15, 3: 10}[size]

    def mean(batch):
        return [torch.stack(own).mean(0) for own in zip(*(single[i] for i in batch), strict=True)]

    found = [between_batches([mean(batch) for batch in way], size).item() for way in ways]
    assert sum(found) / len(found) == pytest.approx(loop(net, x, y), rel=1e-10)
    assert max(found) > 1.1 * min(found)


def test_one_batch_is_too_few():
    net, own = random_model().net, images(4)
    with pytest.raises(OptionError, match="at least two"):
        between_batches([parts(net, normalized(own), own.labels)], 4)
