import pytest
import torch

from dartboard.cli.models import WHICH, find_model, find_network
from dartboard.errors import DartboardError
from dartboard.nn import CellNet, Model, NetConfig, pack_model
from dartboard.space import adopt, enumerate_genotypes, get_space


@pytest.fixture
def run(tmp_path):
    """A directory with two networks."""
    space = get_space("nano")
    space = adopt(space, list(enumerate_genotypes(space))[-1])
    for seed, name in enumerate(WHICH.values()):
        torch.manual_seed(seed)
        net = CellNet(space, NetConfig(channels=2, classes=2, input=(1, 8, 8)))
        (tmp_path / name).write_bytes(pack_model(Model(net, ("a", "b"), (0.0,), (1.0,), {"name": name})))
    return tmp_path


def test_the_best_unless_the_last_is_asked_for(run):
    assert [find_model(str(run), which).file.name for which in (None, "best", "last")] == [
        "best.safetensors",
        "best.safetensors",
        "last.safetensors",
    ]
    assert find_model(str(run), "last").model.facts == {"name": "last.safetensors"}


def test_a_network_is_ready_to_run(run):
    x = torch.randn(3, 1, 8, 8)
    for text in (run, run / "best.safetensors"):
        opened = find_network(str(text), None, torch.device("cpu"))
        assert opened.metadata.classes == ("a", "b")
        assert torch.equal(opened.forward(x), find_model(str(run), None).model.net(x))


def test_which_is_for_runs_alone(run):
    for name in ("best.safetensors", "net.onnx"):
        with pytest.raises(DartboardError, match="--which chooses between the networks of a run"):
            find_network(str(run / name), "best", torch.device("cpu"))
