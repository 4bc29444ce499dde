"""The tools for trained networks, with exported networks, with those of timm, and with several at once."""

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from dartboard.analysis.grid import GridOptions
from dartboard.cli.main import main
from dartboard.export import export_model
from dartboard.nn import load_model
from helpers.console import without_notices
from helpers.landscape_cases import differ_at_the_end
from helpers.protocol_cases import few_digits

Capture = pytest.CaptureFixture[str]
SMALL = ("--grid", "3", "--examples", "20")
CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
TINY = ("epochs=2", "batch=16", "net.channels=2", "net.cells=1", "data.pad=0", "data.flip=false")
FILES = {"python": "net_py.py", "torchscript": "net.pt", "pt2": "net.pt2", "onnx": "net.onnx"}


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the training of a few steps and its images."""
    folder = tmp_path_factory.mktemp("training")
    words = ("--data", few_digits(folder / "few.npz"), "--out", str(folder / "run"), "--quiet", "--no-report")
    more = ("net.auxiliary=0", "net.drop_path=0", "--threads", "1")
    assert main(["train", CELL, *TINY, *more, *words]) == 0
    differ_at_the_end(folder / "run")
    return folder


@pytest.fixture(autouse=True)
def _own_copy(training: Path, own_folder: None) -> None:  # noqa: ARG001
    """The training in run/, its images in few.npz."""
    shutil.copytree(training / "run", "run")
    shutil.copy(training / "few.npz", "few.npz")


def facts(capsys: Capture, *words: object) -> dict:
    capsys.readouterr()
    assert main(["analyse", *map(str, words), "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Capture, *words: object) -> str:
    capsys.readouterr()
    assert main(["analyse", *map(str, words)]) == 2
    said = without_notices(capsys.readouterr().err)
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize("form", ["python", "torchscript", "pt2"])
def test_exported_networks_are_measured_as_the_run_is(form: str, capsys: Capture) -> None:
    file = FILES[form]
    export_model(load_model("run/best.safetensors"), file, form)
    for words in (("--of", "loss"), ("--of", "variance")):
        run = facts(capsys, "landscape", "run", *SMALL, *words, "--vectors", "drawn", "--out", "a")
        found = facts(capsys, "landscape", file, *SMALL, *words, "--data", "few.npz", "--out", "b")
        middle = found["values"][1][1]
        assert middle == pytest.approx(run["values"][1][1], rel=1e-4)
        assert np.isfinite(found["values"]).all()
        assert found["images"] == run["images"]
    words = ("--count", 2, "--examples", 12, "--trace", "--probes", 3)
    found = facts(capsys, "hessian", file, *words, "--data", "few.npz", "--threads", 1)
    run = facts(capsys, "hessian", "run", *words, "--threads", 1)
    assert found["largest"] == pytest.approx(run["largest"], rel=1e-2)
    assert found["parameters"] >= run["parameters"]
    assert "name images with --data" in refused(capsys, "landscape", file)
    if form != "python":
        words = ("--statistics", "batch", "--data", "few.npz", "--out", "c")
        assert "use statistics=kept" in refused(capsys, "landscape", file, *SMALL, *words)


def test_a_network_that_torch_does_not_run(capsys: Capture) -> None:
    export_model(load_model("run/best.safetensors"), "net.onnx", "onnx")
    for tool in ("landscape", "hessian"):
        said = refused(capsys, tool, "net.onnx", "--data", "few.npz")
        assert "cannot be differentiated" in said
        assert "export the network as python, torchscript or pt2" in said
    Path("broken.pt").write_text("nothing")
    assert "not a TorchScript program" in refused(capsys, "landscape", "broken.pt", "--data", "few.npz")
    assert "no file 'none.pt2'" in refused(capsys, "hessian", "none.pt2", "--data", "few.npz")


def timm_network(num_classes: int, in_chans: int) -> nn.Module:
    layers = (nn.Conv2d(in_chans, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(*layers, nn.Linear(4, num_classes))


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the package, which needs a torchvision that fits torch."""

    def create_model(name: str, *, num_classes: int, in_chans: int) -> nn.Module:
        if name != "tiny_net":
            raise RuntimeError(f"Unknown model ({name})")
        return timm_network(num_classes, in_chans)

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))  # type: ignore[arg-type]


@pytest.mark.usefixtures("timm")
def test_networks_of_timm(capsys: Capture) -> None:
    words = ("--data", "few.npz", *SMALL)
    fresh = facts(capsys, "landscape", "timm:tiny_net", *words)
    assert fresh["out"] == "runs/landscape-tiny_net"
    state = torch.get_rng_state()
    assert facts(capsys, "landscape", "timm:tiny_net", *words, "--out", "o")["values"] == fresh["values"]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(7)
    save_file(timm_network(10, 1).state_dict(), "w.safetensors")
    other = facts(capsys, "landscape", "timm:tiny_net@w.safetensors", *words, "--out", "w")
    assert not np.allclose(other["values"], fresh["values"])
    found = facts(capsys, "hessian", "timm:tiny_net@w.safetensors", *words[:2], "--density", "--degree", 5)
    assert len(found["density"]["nodes"]) == 10
    assert Path("runs/hessian-tiny_net/density.svg").exists()
    assert "name them with --data" in refused(capsys, "hessian", "timm:tiny_net")
    assert "timm cannot make 'resnet'" in refused(capsys, "landscape", "timm:resnet", "--data", "few.npz")
    for weights in ("none.safetensors", "run/best.safetensors"):
        said = refused(capsys, "landscape", f"timm:tiny_net@{weights}", "--data", "few.npz")
        assert f"{weights} cannot be the weights of tiny_net" in said


def test_timm_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    said = refused(capsys, "landscape", "timm:resnet18", "--data", "few.npz")
    assert "pip install 'dartboard[timm]'" in said


def test_several_are_drawn_side_by_side_on_one_scale(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dartboard.viz import plots

    drawn = []
    contours = plots.plot_contours
    monkeypatch.setattr(plots, "plot_contours", lambda panels: drawn.append(panels) or contours(panels))
    both = facts(capsys, "landscape", "run/best.safetensors", "run/last.safetensors", *SMALL)
    assert both["out"] == "runs/landscape-best-last"
    alone = facts(capsys, "landscape", "run/last.safetensors", *SMALL, "--out", "alone")
    assert both["networks"]["last"]["values"] == alone["values"]
    assert both["networks"]["best"]["values"] != alone["values"]
    [panels, _] = drawn
    assert list(panels.values) == ["best", "last"]
    assert panels.steps["best"].tolist() == panels.steps["last"].tolist()
    folder = Path(both["out"])
    assert (folder / "loss-flat.svg").exists()
    assert (folder / "last" / "loss.json").exists()
    assert "leave out epochs=3" in refused(capsys, "landscape", "run", "run/last.safetensors", "epochs=3")
    mixed = facts(capsys, "landscape", "run", CELL, "--data", "few.npz", *SMALL, *TINY[1:], "epochs=1")
    assert list(mixed["networks"]) == ["run", "cell"]
    assert len(list(Path(mixed["out"], "cell", "runs").iterdir())) == 1
    assert main(["analyse", "landscape", "run", "run/last.safetensors", *SMALL, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "loss of run" in said
    assert "loss of last" in said


def test_the_full_grid(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from dartboard.analysis.landscape import Landscape

    def measure(_: object, __: object, options: GridOptions, **___: object) -> Landscape:
        return Landscape(options, np.ones((options.grid, options.grid)))

    monkeypatch.setattr("dartboard.analysis.landscape.landscape", measure)
    found = facts(capsys, "landscape", "run", "--full", "--examples", 2)
    assert (found["options"]["grid"], found["options"]["radius"]) == (51, 1.0)
    usual = facts(capsys, "landscape", "run", "--examples", 2)
    assert (usual["options"]["grid"], usual["options"]["radius"]) == (21, 1.0)


def test_a_line_through_two_networks(capsys: Capture) -> None:
    files = ("run/best.safetensors", "run/last.safetensors")
    found = facts(capsys, "line", *files, "--points", 3, "--examples", 20, "--out", "out")
    assert found["positions"] == [-0.5, 0.0, 0.5, 1.0, 1.5]
    for place, file in zip((1, 3), files, strict=True):
        alone = facts(capsys, "landscape", file, *SMALL, "--out", file.replace("/", "-"))
        assert found["losses"][place] == pytest.approx(alone["shape"]["centre"], rel=1e-5)
    assert Path("out/line.svg").exists()
    assert json.loads(Path("out/line.json").read_text())["states"] == ["best", "last"]
    export_model(load_model(files[0]), "a.pt2", "pt2")
    export_model(load_model(files[1]), "b.pt2", "pt2")
    words = ("--points", 3, "--examples", 20, "--data", "few.npz")
    exported = facts(capsys, "line", "a.pt2", "b.pt2", *words)
    assert exported["losses"] == pytest.approx(found["losses"], rel=1e-3)
    changed = [("--beyond", 0), ("--statistics", "fresh"), ("--statistics", "batch"), ("--part", "train")]
    for words in changed:
        other = facts(capsys, "line", *files, "--points", 3, "--examples", 20, *words)
        assert other["losses"] != found["losses"]


def test_the_last_steps_of_a_training(capsys: Capture) -> None:
    found = facts(capsys, "line", "run", "--points", 3, "--examples", 20)
    assert len(found["states"]) == 2
    assert all(state.startswith("step ") for state in found["states"])
    path = facts(capsys, "trajectory", "run", "--examples", 20)
    assert path["states"] == found["states"]
    assert path["positions"] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert path["losses"][0] == pytest.approx(found["losses"][1])
    files = ("run/best.safetensors", "run/last.safetensors", "run/best.safetensors")
    loop = facts(capsys, "trajectory", *files, "--examples", 20, "--out", "loop")
    assert loop["explained"] == pytest.approx([1.0, 0.0], abs=1e-9)
    assert loop["distances"][0] == pytest.approx(loop["distances"][1])
    assert main(["analyse", "line", "run", "--quiet"]) == 0
    assert "barrier" in capsys.readouterr().out
    assert "a line needs two states" in refused(capsys, "line", "run/best.safetensors")
    assert "darts-v2 is not a trained network" in refused(capsys, "line", "run", "darts-v2")


@pytest.mark.usefixtures("timm")
def test_networks_that_are_no_cells_learn_side_by_side(capsys: Capture) -> None:
    export_model(load_model("run/best.safetensors"), "net_py.py", "python")
    words = ("convergence", "timm:tiny_net", "net_py.py", "--data", "few.npz", "epochs=1", "batch=32")
    found = facts(capsys, *words)
    assert found["out"] == "runs/convergence-tiny_net-few"
    assert sorted(found["rates"][0]["ranking"]) == ["net_py", "tiny_net"]
    other = facts(capsys, *words, "--only", "net_py", "--seeds", "0-1")
    assert list(other["cells"]) == ["net_py"]
    [first, second] = other["rates"][0]["cells"]["net_py"]["trainings"]
    assert first == found["rates"][0]["cells"]["net_py"]["trainings"][0]
    assert first["curves"] != second["curves"]
    assert main(["analyse", *words, "--quiet"]) == 0
    assert "written to runs/convergence-tiny_net-few" in capsys.readouterr().out
    export_model(load_model("run/best.safetensors"), "net.pt", "torchscript")
    for more, said in (
        (("darts-v2",), "darts-v2 is a cell"),
        (("net.pt",), "net.pt cannot begin with fresh weights"),
        (("timm:tiny_net@w.safetensors",), "leave out the weights behind @"),
        (("net.channels=3",), "net.channels=3 is of cells"),
        (("--jobs", "2"), "--jobs is of cells"),
        (("--only", "tiny"), "tiny"),
    ):
        assert said in refused(capsys, *words, *more)
