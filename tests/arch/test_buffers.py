import torch
from torch import Tensor, nn

from dartboard.arch.buffers import BufferSnapshot, average_over_ranks, local_statistics, running_statistics
from dartboard.distributed import Group


class Synchronized(nn.BatchNorm2d):
    sees_all_ranks = True


class TwoEqualRanks(Group):
    """A group whose other rank holds the same numbers plus one."""

    size = 2

    def all_reduce(self, tensors: list[Tensor]) -> list[Tensor]:
        return [2 * tensor + 1 for tensor in tensors]


def test_statistics_of_synchronized_layers_are_not_local() -> None:
    net = nn.Sequential(nn.BatchNorm2d(2), Synchronized(2), nn.GroupNorm(1, 2), nn.Conv2d(2, 2, 1))
    assert len(running_statistics(net.modules())) == 4
    local = local_statistics(net)
    assert [tensor.data_ptr() for tensor in local] == [
        net[0].running_mean.data_ptr(),
        net[0].running_var.data_ptr(),
    ]


def test_a_mean_over_ranks_is_taken_in_place() -> None:
    tensor = torch.tensor([1.0, 3.0])
    average_over_ranks([tensor], TwoEqualRanks())
    assert tensor.tolist() == [1.5, 3.5]


def test_a_snapshot_restores_buffers_of_every_type() -> None:
    net = nn.Sequential(nn.BatchNorm2d(2), nn.BatchNorm2d(3).double())
    before = {name: buffer.clone() for name, buffer in net.named_buffers()}
    snapshot = BufferSnapshot(net)
    snapshot.save()
    net[0](torch.randn(4, 2, 3, 3))
    net[1](torch.randn(4, 3, 3, 3, dtype=torch.float64))
    assert not torch.equal(net[0].running_mean, before["0.running_mean"])
    snapshot.restore()
    assert all(torch.equal(buffer, before[name]) for name, buffer in net.named_buffers())
