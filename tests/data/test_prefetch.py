"""Work ahead of time, by real processes."""

import multiprocessing
import os

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dartboard.data.prefetch import Prefetcher
from dartboard.errors import DataError
from helpers import worker_functions

COUNTS = [0, 1, 2]


def same(number: int) -> int:
    return number


def values(ahead: Prefetcher[int, Tensor], numbers: list[int]) -> list[int]:
    return [int(ahead.get(number)) for number in numbers]


@pytest.mark.parametrize("workers", COUNTS)
def test_results_come_whatever_is_asked_for(workers: int) -> None:
    ahead = Prefetcher(worker_functions.square, same, workers=workers)
    numbers = [0, 1, 2, 3, 10, 11, 3, 3, 0]
    assert values(ahead, numbers) == [number**2 for number in numbers]
    ahead.close()


def test_results_keep_their_order_and_workers_stay() -> None:
    ahead = Prefetcher(worker_functions.slow_early_tasks, same, workers=2)
    found = [ahead.get(number).tolist() for number in [*range(8), 3, 4, 5]]
    assert [number for number, _ in found] == [*range(8), 3, 4, 5]
    assert len({process for _, process in found}) == 2
    assert os.getpid() not in {process for _, process in found}
    ahead.close()


@pytest.mark.parametrize("workers", COUNTS)
def test_an_error_of_the_caller_comes_as_it_is(workers: int) -> None:
    ahead = Prefetcher(worker_functions.refuse_three, same, workers=workers)
    assert values(ahead, [0, 1, 2]) == [0, 1, 2]
    with pytest.raises(DataError) as raised:
        ahead.get(3)
    assert str(raised.value) == "three is one too many"
    assert raised.value.__cause__ is None
    assert values(ahead, [4, 5]) == [4, 5]
    ahead.close()


def test_a_mistake_in_the_work_is_shown_in_full() -> None:
    with pytest.raises(KeyError, match="in broken"):
        Prefetcher(worker_functions.broken, same, workers=1).get(0)
    assert multiprocessing.active_children() == []


def test_a_worker_that_was_killed_is_an_error() -> None:
    ahead = Prefetcher(worker_functions.kill_itself_at_two, same, workers=1)
    with pytest.raises(DataError, match=r"a process that prepares images was ended from outside .* or 0"):
        values(ahead, [0, 1, 2])


def test_workers_leave_interrupts_to_the_main_process() -> None:
    assert values(Prefetcher(worker_functions.ignores_sigint, same, workers=2), [0, 1]) == [1, 1]


def test_there_is_an_end_where_there_is_one() -> None:
    ahead = Prefetcher(worker_functions.square, same, count=3, workers=2)
    assert values(ahead, [0, 1, 2]) == [0, 1, 4]
    with pytest.raises(StopIteration):
        ahead.get(3)


def test_nothing_starts_before_it_is_asked_for() -> None:
    ahead = Prefetcher(worker_functions.square, same, workers=2)
    assert multiprocessing.active_children() == []
    ahead.get(0)
    assert len(multiprocessing.active_children()) == 2
    ahead.close()
    assert multiprocessing.active_children() == []
    assert int(ahead.get(7)) == 49  # and again
    ahead.close()


def test_many_end_cleanly() -> None:
    many = [Prefetcher(worker_functions.square, same, workers=1) for _ in range(5)]
    assert [int(ahead.get(2)) for ahead in many] == [4] * 5
    assert len(multiprocessing.active_children()) == 5
    many[0].close()
    assert len(multiprocessing.active_children()) == 4
    del many
    assert multiprocessing.active_children() == []


def test_the_global_state_of_torch_is_not_touched() -> None:
    before = torch.get_rng_state()
    ahead = Prefetcher(worker_functions.square, same, workers=1)
    values(ahead, [0, 5])
    ahead.close()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [-1, 1.5])
def test_nonsense_is_refused(workers: int) -> None:
    with pytest.raises(DataError, match="workers must be a whole number >= 0"):
        Prefetcher(worker_functions.square, same, workers=workers)


@pytest.mark.parametrize("error", [EOFError("unexpected EOF"), ConnectionResetError("reset by peer")])
def test_a_fork_server_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def start(_: object) -> None:
        raise error

    ahead = Prefetcher(worker_functions.square, same, workers=1)
    with monkeypatch.context() as patch:
        patch.setattr(DataLoader, "__iter__", start)
        with pytest.raises(DataError, match=rf"was ended from outside \({error}\); .* or 0"):
            ahead.get(0)
    assert int(ahead.get(3)) == 9  # and again
    ahead.close()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
def test_results_are_in_pinned_memory() -> None:
    ahead = Prefetcher(worker_functions.square, same, workers=1, pinned=True)
    found: Tensor = ahead.get(3)
    assert found.is_pinned()
    assert int(found.cuda(non_blocking=True)) == 9
    ahead.close()
