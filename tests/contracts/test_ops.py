"""What every op must show; a new op is tested by being registered."""

from itertools import product

import pytest
import torch

from dartboard.errors import NetworkError
from dartboard.nn import OPS, Site, build_op
from dartboard.nn.fast.fanout import Candidate, outputs
from dartboard.nn.ops import SourceNode
from helpers import networks

POOLS = ("max_pool_3x3", "avg_pool_3x3")
SIZES = [(8, 8), (7, 7), (9, 6), (5, 5), (4, 3), (2, 2), (1, 1), (1, 4)]


def make(name: str, **site) -> torch.nn.Module:
    torch.manual_seed(0)
    return build_op(name, Site(**({"inputs": 4, "outputs": 4} | site))).double()


def image(height: int = 6, width: int = 6, *, channels: int = 4) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(3, channels, height, width, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", OPS)
def test_only_the_stride_changes_the_size(name, stride):
    op = make(name, stride=stride).eval()
    for height, width in SIZES:
        assert op(image(height, width)).shape == (3, 4, -(-height // stride), -(-width // stride))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", OPS)
def test_channels_change_where_the_op_can(name, stride):
    if name in POOLS:
        with pytest.raises(NetworkError, match="a pooling cannot turn 6 channels into 4"):
            make(name, inputs=6, stride=stride)
    else:
        assert make(name, inputs=6, stride=stride)(image(channels=6)).shape[1] == 4


@pytest.mark.parametrize("name", OPS)
def test_scale_and_shift_are_there_where_asked_for(name):
    for affine in (True, False):
        norms = [
            module for module in make(name, stride=2, affine=affine).modules() if networks.is_norm(module)
        ]
        assert all((norm.weight is not None) == (norm.bias is not None) == affine for norm in norms)


@pytest.mark.parametrize("name", OPS)
def test_a_norm_after_a_pooling_is_there_where_asked_for(name):
    plain, normed = (make(name, pool_norm=pool_norm) for pool_norm in (False, True))
    assert (str(plain) != str(normed)) == (name in POOLS)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", OPS)
def test_copies_that_leave_a_node_give_what_each_gives_alone(name, stride, training):
    """Outputs, gradients in the input and the weights, and the buffers, for one to three copies."""
    for copies, affine, size in product((1, 2, 3), (True, False), ((6, 6), (5, 3))):
        together, alone = [], []
        for bank, found in ((True, together), (False, alone)):
            ops = [make(name, stride=stride, affine=affine, pool_norm=True) for _ in range(copies)]
            for seed, op in enumerate(ops):
                networks.randomize(op, seed=seed)
                op.train(training)
            x = image(*size)
            found.append(results(ops, x, bank=bank))
        networks.assert_equal(together[0], alone[0], within=1e-9)


def results(ops, x, *, bank):
    candidates = [Candidate(edge, 0, op) for edge, op in enumerate(ops)]
    if bank:
        by_edge = {candidate.edge: y for candidate, y in outputs(SourceNode(x), candidates)}
    else:
        by_edge = {candidate.edge: candidate.op(x) for candidate in candidates}
    found = {f"output {edge}": by_edge[edge] for edge in sorted(by_edge)}
    loss = sum((y * (1 + edge) + y.square()).sum() for edge, y in by_edge.items())
    parameters = {f"{edge} {name}": p for edge, op in enumerate(ops) for name, p in op.named_parameters()}
    if loss.requires_grad:
        gradients = torch.autograd.grad(loss, [x, *parameters.values()], allow_unused=True)
        found |= {f"gradient {name}": g for name, g in zip(["x", *parameters], gradients, strict=True)}
    buffers = {f"buffer {edge} {name}": b for edge, op in enumerate(ops) for name, b in op.named_buffers()}
    return found | buffers


@pytest.mark.parametrize("name", OPS)
def test_evaluation_changes_no_buffer(name):
    op = make(name, pool_norm=True).eval()
    before = {key: buffer.clone() for key, buffer in op.named_buffers()}
    op(image())
    list(outputs(SourceNode(image()), [Candidate(0, 0, op)]))
    networks.assert_equal(dict(op.named_buffers()), before, within=0.0)
