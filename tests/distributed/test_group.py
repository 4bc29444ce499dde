import pickle

import pytest
import torch
from torch import nn

from dartboard.arch.microbatch import local_statistics
from dartboard.data import Augment, BatchLoader, ImageSet, evaluation_batches
from dartboard.distributed import SINGLE, Group
from dartboard.errors import DistributedError
from dartboard.nn.fast.norm import synchronize


class OneOf(Group):
    """One of several, without communication."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size


def test_one_process_is_all_there_is() -> None:
    assert SINGLE.local_rows(7) == slice(0, 7)
    assert SINGLE.any(True)
    assert not SINGLE.any(False)
    value = object()
    assert SINGLE.broadcast(lambda: value, pickle.dumps, pickle.loads) is value
    tensor = torch.ones(2)
    assert SINGLE.all_reduce([tensor])[0] is tensor
    SINGLE.check_same("it", "x")
    net = nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(2, track_running_stats=False))
    synchronize(net, SINGLE.norm_reducer)
    assert type(net[0]) is nn.BatchNorm2d
    assert [own is kept for own, kept in zip(local_statistics(net), net[0].buffers(), strict=False)] == [
        True
    ] * 2


def test_norms_of_every_kind_have_statistics_of_their_own() -> None:
    class Mine(nn.BatchNorm2d):
        """Somebody's."""

    class Together(Mine):
        sees_all_ranks = True

    own = nn.Sequential(Mine(2), nn.BatchNorm1d(2), nn.InstanceNorm2d(2, track_running_stats=True))
    net = nn.Sequential(Together(2), nn.GroupNorm(1, 2), nn.InstanceNorm2d(2), own)
    found = local_statistics(net)
    kept = [buffer for norm in own for buffer in (norm.running_mean, norm.running_var)]
    assert len(found) == len(kept) == 6
    assert all(one is other for one, other in zip(found, kept, strict=True))


def test_rows_are_shared_out_evenly() -> None:
    rows = [row for rank in range(4) for row in range(12)[OneOf(rank, 4).local_rows(12)]]
    assert rows == list(range(12))


@pytest.mark.parametrize(("size", "words"), [(10, "set batch=9 or batch=12"), (2, "set batch=3$")])
def test_what_cannot_be_shared_out_is_refused(size: int, words: str) -> None:
    with pytest.raises(DistributedError, match=words):
        OneOf(0, 3).local_rows(size)


def images(count: int) -> ImageSet:
    pixels = torch.randint(255, (count, 1, 6, 6), generator=torch.Generator().manual_seed(0))
    return ImageSet(pixels.to(torch.uint8), torch.arange(count) % 3)


def shifted(x: torch.Tensor, mean: torch.Tensor, std: torch.Tensor, chance: torch.Generator) -> torch.Tensor:
    """A way of its own to vary images: by one draw for each of the batch."""
    drawn = torch.rand(len(x), generator=chance)
    return (x - mean) / std + drawn[:, None, None, None]


@pytest.mark.parametrize("augment", [Augment(pad=2, flip=True, cutout=3, area=0.5), shifted])
def test_parts_of_batches_are_those_of_the_whole(augment: Augment) -> None:
    common = {
        "batch": 6,
        "seed": 3,
        "name": "train",
        "mean": (99.0,),
        "std": (50.0,),
        "augment": augment,
    }
    whole = BatchLoader(images(20), **common)
    parts = [BatchLoader(images(20), **common, group=OneOf(rank, 3)) for rank in range(3)]
    for step in (0, 1, 4, 7):
        expected, found = whole.batch(step), [own.batch(step) for own in parts]
        assert torch.equal(torch.cat([own.x for own in found]), expected.x)
        assert torch.equal(torch.cat([own.y for own in found]), expected.y)


def test_batches_to_measure_with_are_dealt_out() -> None:
    common = {"batch": 4, "mean": (99.0,), "std": (50.0,)}
    whole = [batch.x for batch in evaluation_batches(images(18), **common)]
    dealt = [
        [batch.x for batch in evaluation_batches(images(18), **common, group=OneOf(rank, 2))]
        for rank in range(2)
    ]
    assert [len(own) for own in dealt] == [3, 2]
    for rank, own in enumerate(dealt):
        assert all(torch.equal(x, y) for x, y in zip(own, whole[rank::2], strict=True))
