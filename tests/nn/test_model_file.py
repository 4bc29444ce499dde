import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from dartboard.errors import ModelError
from dartboard.nn import CellNet, Model, NetConfig, load_model, pack_model
from dartboard.space import PUBLISHED, adopt, get_published, get_space


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    space = adopt(get_space("darts"), get_published("darts-v2")).resized(3)
    net = CellNet(space, NetConfig(channels=4, classes=3, input=(1, 8, 8), auxiliary=True, drop_path=0.1))
    return Model(net.eval(), ("a", "b", "<c>"), (3.0,), (2.5,), {"seed": 7}, 0.875)


def test_a_model_is_what_it_was(tmp_path, model):
    assert "darts-v2" in PUBLISHED
    path = tmp_path / "model.safetensors"
    path.write_bytes(pack_model(model))
    found = load_model(path)
    x = torch.randn(2, 1, 8, 8)
    assert torch.equal(found.net(x), model.net(x))
    assert found.net.config == model.net.config
    assert found.net.space == model.net.space
    assert not found.net.training
    for name in ("classes", "mean", "std", "facts", "crop_pct"):
        assert getattr(found, name) == getattr(model, name)
    assert pack_model(found) == pack_model(model)


def test_names_and_scales_must_fit(model):
    with pytest.raises(ModelError, match="3 classes, not 2"):
        replace(model, classes=("a", "b"))
    with pytest.raises(ModelError, match="1 channels; mean and std have 3 and 1"):
        replace(model, mean=(1.0, 2.0, 3.0))


def damaged(model, **changes):
    about = json.loads(header(model)) | changes
    return {name: tensor.contiguous() for name, tensor in model.net.state_dict().items()}, about


def header(model):
    data = pack_model(model)
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["dartboard"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 99}, "it has format 99, of a newer dartboard"),
        ({"config": {}}, "input"),
        ({"classes": ["one"]}, "3 classes, not 1"),
        ({"space": {}}, "not a model"),
        ({"mean": [float("nan")]}, "cannot be normalized"),
        ({"deviation": [0.0]}, "cannot be normalized"),
        ({"centre": "1.0\nimport os"}, "not a model"),
        ({"centre": 0.0}, "above 0 and at most 1"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, model, changes, said):
    tensors, about = damaged(model, **changes)
    path = tmp_path / "model.safetensors"
    save_file(tensors, path, {"dartboard": json.dumps(about)})
    with pytest.raises(ModelError, match=said):
        load_model(path)


def test_weights_of_another_network_are_refused(tmp_path, model):
    tensors, about = damaged(model)
    tensors.pop("head.linear.weight")
    save_file(tensors, tmp_path / "m.safetensors", {"dartboard": json.dumps(about)})
    with pytest.raises(ModelError, match=r"head\.linear\.weight"):
        load_model(tmp_path / "m.safetensors")


def test_files_that_are_no_models(tmp_path, model):
    with pytest.raises(ModelError, match="no file"):
        load_model(tmp_path / "none.safetensors")
    with pytest.raises(ModelError, match="is a folder, not a file"):
        load_model(tmp_path)
    path = tmp_path / "cut.safetensors"
    path.write_bytes(pack_model(model)[:-10])
    with pytest.raises(ModelError, match="not a model"):
        load_model(path)
    save_file({"w": torch.zeros(1)}, tmp_path / "bare.safetensors")
    with pytest.raises(ModelError, match="not what network they are of"):
        load_model(tmp_path / "bare.safetensors")


@pytest.mark.parametrize("about", [[], "text", None, 3])
def test_what_is_no_object_is_refused(tmp_path, model, about):
    tensors, _ = damaged(model)
    save_file(tensors, tmp_path / "m.safetensors", {"dartboard": json.dumps(about)})
    with pytest.raises(ModelError, match="not a JSON object"):
        load_model(tmp_path / "m.safetensors")
