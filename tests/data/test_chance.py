import numpy as np
import pytest
import torch

from dartboard.data.chance import generator, send


def draw(*key: int | str) -> list[int]:
    return torch.randint(2**31, (4,), generator=generator(*key)).tolist()


def test_a_key_settles_the_draws() -> None:
    assert draw(1, "train", 2) == draw(1, "train", 2)
    assert draw(np.int64(1), "train") == draw(1, "train")


@pytest.mark.parametrize(
    "other", [(1, "train", 3), (2, "train", 2), (1, "valid", 2), ("1", "train", 2), (1, "train2")]
)
def test_every_part_of_the_key_matters(other: tuple[int | str, ...]) -> None:
    assert draw(*other) != draw(1, "train", 2)


def test_numbers_that_are_not_whole_are_no_key() -> None:
    with pytest.raises(TypeError, match="float"):
        generator(1.5)  # type: ignore[arg-type]


def test_values_are_sent_as_they_are() -> None:
    values = torch.arange(3)
    assert send(values, torch.device("cpu")) is values
    assert send(values, torch.device("meta")).device.type == "meta"
