import torch
from torch import nn

from dartboard.arch.microbatch import local_statistics, running_statistics, sum_lists


class Synchronized(nn.BatchNorm2d):
    sees_all_ranks = True


def test_lists_are_summed_entry_by_entry() -> None:
    one, two = torch.tensor([1.0]), torch.tensor(2.0)
    assert [total.tolist() for total in sum_lists([[one, two], [one, two]])] == [[2.0], 4.0]
    assert sum_lists([[one]])[0] is one


def test_statistics_of_synchronized_layers_are_not_local() -> None:
    net = nn.Sequential(nn.BatchNorm2d(2), Synchronized(2), nn.GroupNorm(1, 2), nn.Conv2d(2, 2, 1))
    assert len(running_statistics(net.modules())) == 4
    local = local_statistics(net)
    assert [tensor.data_ptr() for tensor in local] == [
        net[0].running_mean.data_ptr(),
        net[0].running_var.data_ptr(),
    ]
