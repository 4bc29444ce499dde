import torch

from dartboard.nn.node_source import Source


def test_what_ops_share_is_computed_once():
    x = torch.randn(2, 3, 4, 4)
    source = Source(x)
    assert source.x is x
    assert torch.equal(source.relu, x.clamp(min=0))
    assert source.relu is source.relu
    assert torch.equal(source.tiled_relu(3), x.clamp(min=0).repeat(1, 3, 1, 1))
    assert source.tiled_relu(3) is source.tiled_relu(3)
    assert source.tiled_relu(1) is source.relu
