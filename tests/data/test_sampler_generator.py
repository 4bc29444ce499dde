from typing import Any

import numpy as np
import pytest
import torch

from dartboard.data.sampler import generator, send


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


class Noted:
    """Values somewhere, that note what is done to them."""

    def __init__(self, place: str) -> None:
        self.device = torch.device(place)
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Any:
        def note(*_: object, **how: object) -> "Noted":
            self.done.append(name)
            assert how == ({"non_blocking": True} if name == "to" and "pin_memory" in self.done else {})
            return self

        return note


@pytest.mark.parametrize(
    ("place", "device", "done"),
    [
        ("cpu", "cuda", ["contiguous", "pin_memory", "to"]),
        ("cuda", "cuda", ["to"]),  # what is there already cannot be pinned
        ("cpu", "cpu", ["to"]),
        ("cpu", "meta", ["to"]),
    ],
)
def test_only_what_is_copied_from_the_cpu_to_a_card_is_pinned(
    place: str, device: str, done: list[str]
) -> None:
    values: Any = Noted(place)
    assert send(values, torch.device(device)) is values
    assert values.done == done


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
def test_values_go_to_a_card_and_stay_there() -> None:
    there = send(torch.arange(6).view(2, 3)[:, :2], torch.device("cuda"))
    assert send(there, torch.device("cuda")) is there
    assert there.tolist() == [[0, 1], [3, 4]]
