import json
import sys

import pytest
import torch

from dartboard.errors import ModelError
from dartboard.export import export_model, open_exported
from dartboard.space import SPACES

onnx = pytest.importorskip("onnx")
CPU = torch.device("cpu")


QUICK = ("nb201", "oneshot1", "nano")  # torch's exporter takes a second for about 50 operators


@pytest.mark.parametrize(
    "space", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SPACES]
)
def test_onnxruntime_says_what_torch_says(tmp_path, make_model, space):
    model = make_model(space, input=(3, 9, 11), auxiliary=True)
    exported = export_model(model, tmp_path / "net.onnx", "onnx")
    assert exported.difference < 1e-5
    assert exported.files == {tmp_path / "net.onnx": (tmp_path / "net.onnx").stat().st_size}


def test_it_runs_without_dartboard(tmp_path, make_model, alone):
    model = make_model("darts", classes=4, input=(1, 8, 8))
    export_model(model, tmp_path / "net.onnx", "onnx")
    program = f"""
import json, onnx, onnxruntime
path = {str(tmp_path / "net.onnx")!r}
onnx.checker.check_model(path, full_check=True)
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
texts = session.get_modelmeta().custom_metadata_map
assert json.loads(texts["classes"]) == {list(model.classes)!r}
assert json.loads(texts["mean"]) == [100.0] and json.loads(texts["deviation"]) == [50.0]
assert abs(json.loads(texts["unit_mean"])[0] - 100 / 255) < 1e-9
assert json.loads(texts["input"]) == [1, 8, 8]
(images,), (logits,) = session.get_inputs(), session.get_outputs()
assert (images.name, logits.name) == ("images", "logits")
assert isinstance(images.shape[0], str) and images.shape[1:] == [1, 8, 8]
check(lambda x: session.run(None, {{"images": x.numpy()}})[0])
"""
    alone(model, tmp_path, program)


def test_the_opset_is_the_one_that_is_asked_for(tmp_path, make_model):
    model = make_model("nano")
    for opset in (18, 20):
        export_model(model, tmp_path / "net.onnx", "onnx", opset=opset)
        found = {entry.domain: entry.version for entry in onnx.load(tmp_path / "net.onnx").opset_import}
        assert found[""] == opset
    with pytest.raises(ModelError, match="opset 18 to"):
        export_model(model, tmp_path / "net.onnx", "onnx", opset=3)
    with pytest.raises(ModelError, match="torchscript has none"):
        export_model(model, tmp_path / "net.pt", "torchscript", opset=18)


@pytest.mark.parametrize("package", ["onnx", "onnxscript", "onnxruntime"])
def test_a_missing_package_is_named_with_its_extra(tmp_path, make_model, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError, match=rf"{package} .*pip install 'dartboard\[export\]'"):
        export_model(make_model("nano"), tmp_path / "net.onnx", "onnx")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_networks(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="not a network that onnxruntime can run"):
        open_exported(tmp_path / "net.onnx", CPU)


def test_a_network_that_says_nothing_about_itself(tmp_path, make_model):
    export_model(make_model("nano"), tmp_path / "net.onnx", "onnx")
    proto = onnx.load(tmp_path / "net.onnx")
    for entry in proto.metadata_props:
        entry.value = json.dumps(None) if entry.key == "classes" else entry.value + "]"
    onnx.save(proto, tmp_path / "net.onnx")
    with pytest.raises(ModelError, match="does not say its classes"):
        open_exported(tmp_path / "net.onnx", CPU)


def test_a_file_that_names_another_size_is_refused(tmp_path, make_model):
    export_model(make_model("nano"), tmp_path / "net.onnx", "onnx")
    opened = open_exported(tmp_path / "net.onnx", torch.device("cpu"))
    with pytest.raises(ModelError, match="onnxruntime cannot run it") as caught:
        opened.forward(torch.zeros(1, 1, 8, 8))
    assert "\n" not in str(caught.value)
