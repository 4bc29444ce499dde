import sys

import pytest

from dartboard.errors import ModelError
from dartboard.export import export_model
from helpers import torchvision_shim

HAVE = torchvision_shim.torchvision_available()
timm = pytest.importorskip("timm") if HAVE else pytest.skip("no torchvision", allow_module_level=True)

PROGRAM = """
from helpers import torchvision_shim
torchvision_shim.torchvision_available()
import timm, {name}
net = timm.create_model("{name}", pretrained=True).eval()
check(net)
"""


def test_create_model_builds_it_without_dartboard(tmp_path, make_model, alone):
    model = make_model("darts", classes=4)
    export_model(model, tmp_path / "found_darts.py", "timm")
    program = f"""
cfg = net.pretrained_cfg
assert net.default_cfg == cfg
assert tuple(cfg["label_names"]) == {model.classes!r}
assert cfg["num_classes"] == 4 and tuple(cfg["input_size"]) == (3, 8, 8)
assert abs(cfg["mean"][1] - 101 / 255) < 1e-9 and abs(cfg["std"][2] - 52 / 255) < 1e-9
x = torch.randn(2, 3, 8, 8)
with torch.no_grad():
    features = net.forward_features(x)
    assert features.shape[1] == net.num_features
    assert torch.equal(net.forward_head(features), net(x))
    assert net.forward_head(features, pre_logits=True).shape == (2, net.num_features)
other = timm.create_model("found_darts", pretrained=True, num_classes=7).eval()
assert other(x).shape == (2, 7)
assert torch.equal(other.forward_features(x), net.forward_features(x))
assert timm.create_model("found_darts", num_classes=0).eval()(x).shape == (2, net.num_features)
one = timm.create_model("found_darts", pretrained=True, in_chans=1).eval()
gray = x[:, :1]
assert torch.allclose(one(gray), net(gray.expand(-1, 3, -1, -1)), atol=1e-4)
net.reset_classifier(5)
assert net(x).shape == (2, 5) and net.get_classifier().out_features == 5
fresh = timm.create_model("found_darts").eval()
assert not torch.equal(fresh.forward_features(x), net.forward_features(x))
data = timm.data.resolve_model_data_config(net)
assert data["input_size"] == (3, 8, 8) and data["crop_pct"] == 1.0
check(found_darts.build())
"""
    alone(model, tmp_path, PROGRAM.format(name="found_darts") + program)


@pytest.mark.parametrize("channels", [1, 2])
def test_other_channels_keep_their_weights(tmp_path, make_model, channels):
    model = make_model("nano", input=(channels, 8, 8))
    assert export_model(model, tmp_path / f"net_of_{channels}.py", "timm").difference < 1e-5


@pytest.mark.parametrize("stem", ["half", "imagenet"])
def test_the_first_convolution_is_known(tmp_path, make_model, stem):
    model = make_model("darts", stem=stem, input=(3, 32, 32))
    name = f"net_{stem}"
    export_model(model, tmp_path / f"{name}.py", "timm")
    path = timm.create_model(name).pretrained_cfg["first_conv"]
    assert timm.create_model(name).get_submodule(path).in_channels == 3


def test_a_name_of_timm_is_refused(tmp_path, make_model):
    with pytest.raises(ModelError, match="timm has a model called 'resnet18' of its own"):
        export_model(make_model("nano"), tmp_path / "resnet18.py", "timm")
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_a_part_of_the_file_is_refused(tmp_path, make_model):
    with pytest.raises(ModelError, match="cannot be called 'build'"):
        export_model(make_model("nano"), tmp_path / "build.py", "timm")


def test_a_missing_package_is_named_with_its_extra(tmp_path, make_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ModelError, match=r"timm .*pip install 'dartboard\[timm\]'"):
        export_model(make_model("nano"), tmp_path / "net.py", "timm")
