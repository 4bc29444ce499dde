import pytest
import torch

from dartboard.errors import ModelError, UnknownNameError
from dartboard.export import FORMATS, export_model, open_exported, verify
from dartboard.export.models import noise_images, write_all
from dartboard.nn import CellNet, Model, NetConfig
from dartboard.space import get_space
from helpers.networks import shrink


def test_a_network_that_computes_something_else_is_not_written(tmp_path, make_model, monkeypatch):
    model, other = make_model("nano"), make_model("nano", seed=1)
    form = FORMATS["torchscript"]
    order = form.pack
    monkeypatch.setitem(
        FORMATS._values,
        "torchscript",
        type(form)(
            form.suffix, form.description, lambda asked: order(type(asked)(other, asked.name)), form.load
        ),
    )
    with pytest.raises(ModelError, match=r"differs from torch's by .* nothing was written"):
        export_model(model, tmp_path / "net.pt", "torchscript")
    assert list(tmp_path.iterdir()) == []


def test_the_difference_is_the_largest_of_all_logits(make_model):
    model = make_model("nano")

    def forward(x):
        y = model.net(x)
        y[-1, 1] += 5e-5
        return y

    assert verify(forward, model, noise_images(model)) == pytest.approx(5e-5, rel=1e-2)
    assert verify(model.net, model, noise_images(model)[:1]) == 0.0
    with pytest.raises(ModelError, match="differs"):
        verify(lambda x: model.net(x) * float("nan"), model, noise_images(model))


def test_checking_leaves_the_network_as_it_was(tmp_path, make_model):
    model = make_model("nano")
    model.net.train()
    model.net.head.eval()
    modes = [module.training for module in model.net.modules()]
    state = {name: value.clone() for name, value in model.net.state_dict().items()}
    export_model(model, tmp_path / "net.pt", "torchscript")
    assert [module.training for module in model.net.modules()] == modes
    assert all(torch.equal(value, state[name]) for name, value in model.net.state_dict().items())


def test_images_are_those_that_are_given(tmp_path, make_model):
    model = make_model("nano")
    assert export_model(model, tmp_path / "a.pt", "torchscript").images == len(noise_images(model))
    exported = export_model(model, tmp_path / "b.pt", "torchscript", images=torch.randn(3, 3, 8, 8))
    assert exported.images == 3


def test_a_supernet_is_refused(tmp_path):
    net = CellNet(shrink(get_space("nano")), NetConfig(channels=4, classes=2, input=(1, 8, 8))).eval()
    with pytest.raises(ModelError, match="choices left to make"):
        export_model(Model(net, ("a", "b"), (0.0,), (1.0,)), tmp_path / "net.pt", "torchscript")


@pytest.mark.parametrize("kind", list(FORMATS))
def test_the_end_of_the_name_must_fit(tmp_path, make_model, kind):
    with pytest.raises(ModelError, match=rf"for {kind} ends in \.[a-z0-9]+; 'net\.bin' does not"):
        export_model(make_model("nano"), tmp_path / "net.bin", kind)


def test_a_wrong_format_is_named(tmp_path, make_model):
    with pytest.raises(UnknownNameError, match="did you mean 'onnx'"):
        export_model(make_model("nano"), tmp_path / "net.onnx", "onx")


def test_if_one_file_fails_all_are_as_they_were(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").touch()
    files = {tmp_path / "a": b"new", tmp_path / "b": b"new", tmp_path / "no" / "c": b"new"}
    with pytest.raises(OSError, match="no"):
        write_all(files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "folder"]
    assert (tmp_path / "a").read_text() == "old"


def test_what_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file .*net\.onnx"):
        open_exported(tmp_path / "net.onnx", torch.device("cpu"))
    with pytest.raises(UnknownNameError, match=r"'\.bin'"):
        open_exported(tmp_path / "net.bin", torch.device("cpu"))
