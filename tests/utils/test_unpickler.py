import pytest

from dartboard.utils.unpickler import Memo


def test_values_come_back_whatever_their_numbers() -> None:
    memo, kept = Memo(), {}
    for number in (0, 1, 5, 2, 1, 3, 4, 5, 6, 2**40, -1):
        kept[number] = object()
        memo.put(number, kept[number])
        assert all(memo.get(own) is value for own, value in kept.items())


@pytest.mark.parametrize("number", [-1, 1, 2**40])
def test_a_number_that_nothing_has(number: int) -> None:
    memo = Memo()
    memo.put(0, "a")
    with pytest.raises(LookupError):
        memo.get(number)


def test_values_are_counted() -> None:
    memo = Memo()
    memo.put(7, "far")
    memo.add("second")
    memo.put(0, "first")
    memo.add("fourth")
    assert [memo.get(number) for number in (7, 1, 0, 3)] == ["far", "second", "first", "fourth"]
