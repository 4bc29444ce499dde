import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import onnxruntime
import pytest
import torch

from dartboard.cli.main import main
from dartboard.nn import OPS, CellNet, Model, NetConfig, load_model, pack_model
from dartboard.space import Cell, Edge, adopt, decode, get_space
from dartboard.space.catalog import stacked
from helpers import torchvision_shim

CELL = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|avg_pool_3x3~0|none~1|nor_conv_3x3~2|"


def make_model(*, seed=0, shape=(1, 8, 8), space=None, **facts):
    torch.manual_seed(seed)
    if space is None:
        whole = get_space("nb201")
        space = adopt(replace(whole, stack=replace(whole.stack, cells=1, stages=2)), decode(CELL))
    net = CellNet(space, NetConfig(channels=4, input=shape, auxiliary=True))
    with torch.no_grad():
        net.train()(torch.randn(8, *shape))
    channels = shape[0]
    return Model(net.eval(), tuple("0123456789"), (4.0,) * channels, (6.0,) * channels, facts)


@pytest.fixture
def run(tmp_path):
    """The directory of a training, as far as its models go."""
    folder = tmp_path / "my-run"
    folder.mkdir()
    (folder / "best.safetensors").write_bytes(pack_model(make_model(data="digits")))
    (folder / "last.safetensors").write_bytes(pack_model(make_model(seed=1, data="digits")))
    return folder


def failure(capsys, *words):
    """The one line that a command fails with."""
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return line.removeprefix("dartboard: error: ")


def exported(capsys, *words):
    assert main(["export", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("torchscript", ["my-run.pt"]),
        ("pt2", ["my-run.pt2"]),
        ("python", ["my_run.py", "my_run.safetensors"]),
        ("timm", ["my_run.py", "my_run.safetensors"]),
        ("onnx", ["my-run.onnx"]),
    ],
)
def test_each_format_is_written_beside_the_run(run, capsys, kind, files):
    if kind == "timm" and not torchvision_shim.torchvision_available():
        pytest.skip("timm needs torchvision")
    facts = exported(capsys, run, "--format", kind)
    assert [Path(file) for file in facts["files"]] == [run.parent / name for name in files]
    assert all(Path(file).stat().st_size == count for file, count in facts["files"].items())
    assert facts["difference"] < 1e-5
    assert facts["checked_on"] == "64 of the 297 test images of digits"
    assert names(run.parent) == sorted([*files, "my-run"])


def test_people_are_told_what_was_written_and_how_it_was_checked(run, capsys):
    assert main(["export", str(run), "--format", "torchscript"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"written {run}.pt (" in out
    assert "at most between its logits and torch's, on 64 of the 297 test images of digits" in out
    assert f"next dartboard evaluate {run}.pt --data digits" in out


def test_which_and_out(run, capsys, tmp_path):
    x = torch.randn(2, 1, 8, 8)
    nets = {which: load_model(run / f"{which}.safetensors").net for which in ("best", "last")}
    assert not torch.equal(nets["best"](x), nets["last"](x))
    for which, net in nets.items():
        out = tmp_path / f"{which}.onnx"
        exported(capsys, run, "--format", "onnx", "--which", which, "--out", out)
        session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"images": x.numpy()})
        assert torch.allclose(torch.from_numpy(found), net(x), atol=1e-5)
    facts = exported(capsys, run, "--format", "torchscript", "--which", "last")
    assert [Path(file).name for file in facts["files"]] == ["my-run_last.pt"]


def test_a_model_is_never_written_over(run, capsys):
    file = run / "best.safetensors"
    facts = exported(capsys, file, "--format", "python")
    assert [Path(path).name for path in facts["files"]] == ["best_net.py", "best_net.safetensors"]
    before = file.read_bytes()
    line = failure(capsys, "export", file, "--format", "python", "--out", run / "best.py", "--force")
    assert line == f"{file} is the model itself; choose another name with --out"
    assert file.read_bytes() == before


def test_files_that_are_there_stay_unless_forced(run, capsys):
    old = run.parent / "my_run.safetensors"
    old.write_text("old")
    line = failure(capsys, "export", run, "--format", "python")
    assert line == f"{old} is there already; replace it with --force, or choose another with --out"
    assert old.read_text() == "old"
    assert names(run.parent) == ["my-run", "my_run.safetensors"]
    exported(capsys, run, "--format", "python", "--force")
    assert old.stat().st_size > 1000


def test_opset(run, capsys):
    import onnx

    exported(capsys, run, "--format", "onnx", "--opset", "19")
    versions = {entry.domain: entry.version for entry in onnx.load(f"{run}.onnx").opset_import}
    assert versions[""] == 19
    line = failure(capsys, "export", run, "--format", "pt2", "--opset", "19")
    assert line == "an opset is for onnx; pt2 has none"


def test_images_to_check_with(run, capsys, tmp_path):
    (tmp_path / "mute.safetensors").write_bytes(pack_model(make_model()))
    facts = exported(capsys, tmp_path / "mute.safetensors", "--format", "torchscript")
    assert facts["checked_on"] == "16 images of noise: the model does not say its data"
    (tmp_path / "lost.safetensors").write_bytes(pack_model(make_model(data="/nowhere/images")))
    facts = exported(capsys, tmp_path / "lost.safetensors", "--format", "torchscript")
    assert facts["checked_on"].startswith("16 images of noise: its data cannot be had (there is no file or")
    facts = exported(
        capsys, tmp_path / "lost.safetensors", "--format", "torchscript", "--data", "digits", "--force"
    )
    assert facts["checked_on"] == "64 of the 297 test images of digits"
    line = failure(capsys, "export", run, "--format", "torchscript", "--data", "digitz")
    assert "did you mean 'digits'" in line
    assert not Path(f"{run}.pt").exists()


def test_plugins(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(OPS, "_values", dict(OPS._values))
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from torch import nn\nfrom dartboard.nn import OPS\n"
        "OPS.register('blur')(lambda site: nn.AvgPool2d(site.stride, site.stride))\n"
    )
    monkeypatch.setitem(OPS._values, "blur", lambda site: torch.nn.AvgPool2d(site.stride, site.stride))
    cell = Cell(1, 2, (Edge(0, 1, ("blur",)),), (1,), adapt=False)
    model = make_model(space=stacked("own", cell, replace(get_space("nb201").stack, cells=1)))
    file = tmp_path / "own.safetensors"
    file.write_bytes(pack_model(model))
    del OPS._values["blur"]
    assert "blur" in failure(capsys, "export", file, "--format", "torchscript")
    exported(capsys, file, "--format", "torchscript", "--plugin", plugin)
    line = failure(capsys, "export", file, "--format", "python")
    assert line.startswith(
        "the op 'blur' is not one that can be written as Python; export the network as onnx"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "onx"], "no format called 'onx'; did you mean 'onnx'?"),
        (["--format", "onnx", "--out", "net.bin"], "the name of a file for onnx ends in .onnx"),
        (["--format", "python", "--out", "my-net.py"], "cannot be imported"),
        (["--format", "onnx", "--out", "none/net.onnx"], "there is no folder 'none'"),
        (["--format", "onnx", "--opset", "3"], "opset 18 to"),
        ([], "--format"),
    ],
)
def test_mistakes_are_one_line(run, capsys, monkeypatch, words, said):
    monkeypatch.chdir(run.parent)
    assert said in failure(capsys, "export", "my-run", *words)
    assert names(run.parent) == ["my-run"]


def test_a_folder_that_cannot_be_written_to(run, capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: (str(path), mode) != (str(run.parent), os.W_OK))
    line = failure(capsys, "export", run, "--format", "python")
    assert line == f"the folder {str(run.parent)!r} cannot be written to; choose another with --out"


def test_a_disk_that_refuses(run, capsys, monkeypatch):
    def refuse(path, _):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("dartboard.export.models.write_bytes", refuse)
    line = failure(capsys, "export", run, "--format", "python")
    assert "Permission denied" in line
    assert names(run.parent) == ["my-run"]


def test_a_missing_package(run, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    line = failure(capsys, "export", run, "--format", "onnx")
    assert line == "onnxruntime is not installed; pip install 'dartboard[export]'"
    assert names(run.parent) == ["my-run"]


def test_what_is_no_model(tmp_path, capsys):
    assert "there is no file" in failure(capsys, "export", tmp_path / "a.safetensors", "--format", "onnx")
    line = failure(capsys, "export", tmp_path, "--format", "onnx")
    assert line == f"{tmp_path} is not a run of dartboard train: it has no best.safetensors"
    file = tmp_path / "m.safetensors"
    file.write_bytes(pack_model(make_model()))
    line = failure(capsys, "export", file, "--format", "onnx", "--which", "last")
    assert line == f"--which chooses between the networks of a run; {file} is a file"
    file.write_bytes(b"x")
    assert "not a model that can be used" in failure(capsys, "export", file, "--format", "onnx")


def test_a_search_is_to_be_trained_first(tmp_path, capsys):
    from dartboard.runs import Run

    search, training = tmp_path / "search", tmp_path / "training"
    Run.create(search, {"kind": "search"}).close()
    Run.create(training, {"kind": "train"}).close()
    line = failure(capsys, "export", search, "--format", "onnx")
    assert line.endswith(f"train it: dartboard train {search} --recipe quick")
    line = failure(capsys, "export", training, "--format", "onnx")
    assert line.endswith(f"resume with: dartboard train --resume {training}")
