import torch

from dartboard.arch.microbatch import MicroBatch, split_batch, sum_lists
from dartboard.distributed import SINGLE, Group
from dartboard.nn.cell import BatchRows

X, Y = torch.arange(10.0).view(5, 2), torch.arange(5)


class SecondOfThree(Group):
    rank, size = 1, 3


def test_a_batch_of_one_process_and_one_part_is_the_whole() -> None:
    (micro,) = split_batch((X, Y), 1, SINGLE)
    assert micro.batch[0].equal(X)
    assert (micro.weight, micro.rows) == (1.0, None)


def test_micro_batches_know_their_rows() -> None:
    parts = split_batch((X, Y), 2, SINGLE)
    assert [(len(part.batch[1]), part.weight, part.rows) for part in parts] == [
        (3, 0.6, BatchRows(5, 0)),
        (2, 0.4, BatchRows(5, 3)),
    ]


def test_rows_and_weights_are_those_in_the_batch_of_all_ranks() -> None:
    parts: list[MicroBatch] = split_batch((X, Y), 2, SecondOfThree())
    assert [(part.weight, part.rows) for part in parts] == [
        (3 / 15, BatchRows(15, 5)),
        (2 / 15, BatchRows(15, 8)),
    ]


def test_lists_are_summed_entry_by_entry() -> None:
    one, two = torch.tensor([1.0]), torch.tensor(2.0)
    assert [total.tolist() for total in sum_lists([[one, two], [one, two]])] == [[2.0], 4.0]
    assert sum_lists([[one]])[0] is one
