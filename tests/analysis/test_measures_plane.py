import pytest
import torch

from dartboard.analysis.measures import draw_direction, norm, weights_of
from helpers.landscape_cases import random_model


def weights():
    return list(weights_of(random_model().net).values())


def test_every_filter_has_the_norm_of_the_weights():
    own = weights()
    for weight, direction in zip(own, draw_direction(own, 1), strict=True):
        if weight.dim() > 1:
            wanted = torch.stack([filter_.norm() for filter_ in weight])
            found = torch.stack([filter_.norm() for filter_ in direction])
            torch.testing.assert_close(found, wanted)


def test_biases_and_batch_norms_stay_unless_they_shall_move():
    own = weights()
    flat = [place for place, weight in enumerate(own) if weight.dim() == 1]
    assert flat
    still, moving = (draw_direction(own, 1, vectors=vectors) for vectors in ("zero", "drawn"))
    for place in flat:
        assert not still[place].any()
        assert moving[place].norm() == pytest.approx(own[place].detach().norm())
        assert moving[place].abs().min() > 0


def test_gaussian_directions_are_as_drawn():
    own = [torch.zeros(100, 100)]
    (drawn,) = draw_direction(own, 1, kind="gaussian")
    assert drawn.std() == pytest.approx(1.0, abs=0.02)
    assert drawn.mean() == pytest.approx(0.0, abs=0.03)
    (still,) = draw_direction([torch.zeros(9)], 1, kind="gaussian")
    assert not still.any()
    (moving,) = draw_direction([torch.zeros(9)], 1, kind="gaussian", vectors="drawn")
    assert moving.any()


def test_chance_is_settled_by_seed_and_number():
    own = weights()
    first = torch.cat([part.flatten() for part in draw_direction(own, 1, seed=3)])
    again = torch.cat([part.flatten() for part in draw_direction(own, 1, seed=3)])
    assert torch.equal(first, again)
    for number, seed in ((2, 3), (1, 4)):
        other = torch.cat([part.flatten() for part in draw_direction(own, number, seed=seed)])
        assert torch.cosine_similarity(first, other, dim=0).abs() < 0.1


def test_the_auxiliary_classifier_has_no_part():
    names = weights_of(random_model(auxiliary=True).net)
    assert names.keys() == weights_of(random_model().net).keys()


def test_the_length_of_parts():
    assert norm([torch.tensor([3.0]), torch.tensor([[0.0, 4.0]])]) == pytest.approx(5.0)
