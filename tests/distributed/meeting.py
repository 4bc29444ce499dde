"""Prints what each of several processes gets from its group; see test_process_group.py."""

import json
import sys

import torch
from torch import Tensor, nn

from dartboard.distributed.process_group import TorchGroup, join_group
from dartboard.errors import DataError, DistributedError, UnknownNameError
from dartboard.nn.fast.norm import normalize, synchronize


def raised(what: object, *given: object) -> str:
    try:
        what(*given)
    except (DataError, DistributedError, UnknownNameError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def fail() -> None:
    raise DataError("only rank 0 could know")


def misname() -> None:
    raise UnknownNameError("method", "dart", ["darts"])


def divide() -> None:
    raise ZeroDivisionError("by nothing")


def norm_of(x: Tensor, norm: nn.BatchNorm2d) -> dict[str, object]:
    """Output, first and second derivative, and statistics."""
    x = x.clone().requires_grad_()
    y = normalize(x, [norm])
    (slope,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (curve,) = torch.autograd.grad((slope**2).sum(), x)
    statistics = norm.running_mean.tolist(), norm.running_var.tolist(), int(norm.num_batches_tracked)
    return {"y": y.tolist(), "slope": slope.tolist(), "curve": curve.tolist(), "statistics": statistics}


def norms(group: TorchGroup) -> dict[str, dict[str, object]]:
    """A batch-norm of the whole batch, and a synchronized one of this rank's part of it."""
    x = torch.randn(6, 3, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 3 + 100
    found = {}
    for affine in (True, False):
        net = nn.Sequential(nn.BatchNorm2d(3, affine=affine)).double()
        found[f"whole {affine}"] = norm_of(x, net[0])
        net[0].reset_running_stats()
        synchronize(net, group.norm_reducer)
        found[f"part {affine}"] = norm_of(x[group.local_rows(6)], net[0])
        net.eval()
        found[f"eval {affine}"] = {"y": net(x).tolist()}
    return found


if __name__ == "__main__":
    with join_group(torch.device("cpu")) as group:
        sums = group.all_reduce(
            [torch.tensor([1.0, group.rank]), torch.tensor(group.rank + 1), torch.zeros(0)]
        )
        said = {
            "rank": [group.rank, group.size],
            "sums": [total.tolist() for total in sums],
            "any": [group.any(group.rank == 1), group.any(False), group.any(True)],
            "broadcast": group.broadcast(lambda: f"from rank {group.rank}", str.encode, bytes.decode),
            "nothing": group.broadcast(str, str.encode, bytes.decode),
            "failed": [
                raised(group.broadcast, failure, str.encode, bytes.decode)
                for failure in (fail, misname, divide)
            ],
            "same": raised(group.check_same, "it", "equal"),
            "differs": raised(group.check_same, "the state", f"of {group.rank}"),
            "norms": norms(group),
        }
        sys.stdout.write(json.dumps(said))
