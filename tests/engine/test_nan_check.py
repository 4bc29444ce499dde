import re

import pytest
import torch

from dartboard.engine.step import ADVICE, check_finite
from dartboard.errors import DivergedError
from helpers.search_cases import random_objective

NAN, INF = float("nan"), float("inf")


def message(objective, **numbers) -> str:
    given = {name.replace("_", " "): torch.tensor(number) for name, number in numbers.items()}
    with pytest.raises(DivergedError) as caught:
        check_finite(objective, given, epoch=3, step=42)
    return str(caught.value)


def test_finite_numbers_pass():
    objective = random_objective()
    objective.weights[0].data.fill_(NAN)
    check_finite(objective, {"loss": torch.tensor(1e30)}, epoch=0, step=0)


def test_the_first_number_that_is_not_finite_is_named_with_its_value():
    found = message(random_objective(), loss=1.0, norm_of_the_gradient=INF)
    assert found.startswith("the norm of the gradient is inf at step 42 (epoch 3): ")
    assert "all weights are finite, so the forward pass overflowed" in found
    assert found.endswith(ADVICE)


def place(tensor) -> None:
    tensor.data.view(-1)[-1] = NAN


def slope(tensor) -> None:
    tensor.grad = torch.full_like(tensor, INF)


@pytest.mark.parametrize(
    ("part", "name", "spoil", "words"),
    [
        ("relaxation", "cells.cell.ops", place, "architecture parameter cells.cell.ops is not finite"),
        ("net", "head.linear.weight", place, "weight {} is not finite"),
        ("net", "running_var", place, "batch-norm statistic {} is not finite"),
        ("relaxation", "cells.cell.ops", slope, "the gradient of architecture parameter {} is not finite"),
        ("net", "weight", slope, "the gradient of weight {} is not finite"),
    ],
)
def test_the_tensor_to_blame_is_named(part, name, spoil, words):
    objective = random_objective()
    module = getattr(objective, part)
    named = dict(module.named_parameters()) | (dict(module.named_buffers()) if name == "running_var" else {})
    full = [key for key in named if key.endswith(name)] or list(named)
    spoil(named[full[-1]])
    assert re.search(re.escape(words.format(full[-1])), message(objective, loss=NAN))


def test_a_cause_comes_before_its_effects():
    """A weight that is not finite makes gradients and statistics so; the weight is named."""
    objective = random_objective()
    slope(objective.weights[2])
    place(objective.weights[5])
    name = [name for name, _ in objective.net.named_parameters()][5]
    assert f"weight {name} is not finite" in message(objective, loss=NAN)
