import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from dartboard.errors import ModelError
from dartboard.export import ExportRequest, export_model, open_exported
from dartboard.export.python import exported_weights, pack, run_file
from dartboard.nn import OPS, Op, PythonSource, Site
from dartboard.nn.network import STEMS
from dartboard.nn.ops import MaxPool
from dartboard.space import SPACES, Cell, Edge, get_space
from dartboard.space.catalog import stacked
from helpers.networks import shrink

CPU = torch.device("cpu")
ROOT_SETTINGS = ["--config", "pyproject.toml"]


def difference(model, tmp_path, size=None):
    """The largest difference between a written network and the model's."""
    export_model(model, tmp_path / "net.py", "python")
    opened = open_exported(tmp_path / "net.py", CPU)
    x = torch.randn(5, *(size or model.net.config.input))
    with torch.no_grad():
        expected, found = model.net(x), opened.forward(x)
    assert expected.std() > 1e-3
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1))


def lint(text):
    for words in (["check"], ["format", "--diff"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, *ROOT_SETTINGS, "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def edge_space(op):
    """A space of two-input cells, one of which reduces, whose only op is `op`."""
    cell = Cell(2, 4, tuple(Edge(source, target, (op,)) for target in (2, 3) for source in (0, 1)), (2, 3))
    return stacked("ops", cell, replace(get_space("darts").stack, cells=4))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("space", list(SPACES))
def test_the_written_network_equals_the_model_in_every_space(tmp_path, make_model, space, seed):
    model = make_model(space, seed=seed)
    assert difference(model, tmp_path) < 1e-5
    pytest.importorskip("ruff")
    lint((tmp_path / "net.py").read_text())


@pytest.mark.parametrize("op", list(OPS))
def test_every_op_can_be_written(tmp_path, make_model, op):
    if op == "none":
        model = make_model(edge_space("none"), channels=4)
        export_model(model, tmp_path / "net.py", "python")
        return
    assert difference(make_model(edge_space(op), input=(3, 9, 13)), tmp_path) < 1e-5


@pytest.mark.parametrize("stem", list(STEMS))
@pytest.mark.parametrize("space", ["darts", "oneshot1"])
def test_every_stem_can_be_written(tmp_path, make_model, stem, space):
    assert difference(make_model(space, stem=stem, input=(3, 32, 32)), tmp_path) < 1e-5


@pytest.mark.parametrize("shape", [(1, 8, 8), (2, 9, 9), (3, 11, 8), (4, 15, 17)])
@pytest.mark.parametrize("space", ["darts", "nb201", "oneshot2"])
def test_any_channels_and_odd_sizes(tmp_path, make_model, shape, space):
    assert difference(make_model(space, input=shape), tmp_path) < 1e-5


@pytest.mark.parametrize("space", ["darts", "nb201", "oneshot1", "xnas"])
def test_the_form_that_networks_have_in_a_search(tmp_path, make_model, space):
    assert difference(make_model(space, search=True), tmp_path) < 1e-5


@pytest.mark.parametrize("mix", ["plain", "fused"])
def test_an_auxiliary_head_is_left_out(tmp_path, make_model, mix):
    model = make_model("darts", auxiliary=True, drop_path=0.3, mix=mix)
    assert difference(model, tmp_path) < 1e-5
    assert "auxiliary" not in (tmp_path / "net.py").read_text()


def test_side_by_side_with_nothing(tmp_path, make_model):
    edges = (Edge(0, 1, ("nor_conv_3x3",)), Edge(0, 1, ("none",)), Edge(1, 2, ("none",)))
    stack = replace(shrink(get_space("nb201")).stack, cells=1)
    for cell in (
        Cell(1, 3, edges, (1,), concat=(1,), adapt=False, project=True),
        Cell(1, 4, edges, (1, 2, 3), concat=(1,), adapt=False, project=True),
    ):
        assert difference(make_model(stacked("gaps", cell, stack)), tmp_path) < 1e-5


def test_it_runs_without_dartboard(tmp_path, make_model, alone):
    from PIL import Image

    model = make_model("darts")
    export_model(model, tmp_path / "found.py", "python")
    Image.new("RGB", (20, 30), (200, 10, 10)).save(tmp_path / "red.png")
    program = f"""
before = set(sys.modules)
import found
packages = {{name.split(".")[0] for name in set(sys.modules) - before}}
assert not packages & {{"safetensors", "numpy", "PIL", "timm"}}
assert found.CLASSES == {model.classes!r} and found.INPUT == (3, 8, 8)
assert found.MEAN == {model.mean!r} and found.DEVIATION == {model.std!r}
assert abs(found.UNIT_MEAN[0] * 255 - 100) < 1e-9
check(found.build())
try:
    check(found.build(weights=False))
except AssertionError:
    pass
else:
    raise SystemExit("fresh weights are the trained ones")
pixels = torch.randint(256, (2, 3, 8, 8), dtype=torch.uint8)
wanted = (pixels - torch.tensor(found.MEAN).view(3, 1, 1)) / torch.tensor(found.DEVIATION).view(3, 1, 1)
assert torch.equal(found.preprocess(pixels), wanted)
found.main([{str(tmp_path / "red.png")!r}])
found.main([])
"""
    named, random = alone(model, tmp_path, program).splitlines()
    assert named.startswith(f"{tmp_path / 'red.png'}: ")
    assert named.split(": ")[1].split(" (")[0] in model.classes
    assert random.startswith("random image: ")


@pytest.mark.parametrize("crop_pct", [1.0, 0.75])
@pytest.mark.parametrize("channels", [1, 3])
def test_image_files_are_read_as_they_are_measured(tmp_path, make_model, channels, crop_pct):
    from PIL import Image

    from dartboard.data.loader import read_center_crop

    model = replace(make_model("nano", input=(channels, 8, 8)), crop_pct=crop_pct)
    export_model(model, tmp_path / "net.py", "python")
    pixels = torch.randint(256, (31, 45, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    Image.fromarray(pixels.numpy()).save(tmp_path / "image.png")
    expected = read_center_crop(str(tmp_path / "image.png"), (channels, 8, 8), crop_pct)
    found = run_file(tmp_path / "net.py").read_image(str(tmp_path / "image.png"))
    assert torch.equal(found[0], expected)


def test_the_file_has_nothing_that_the_network_does_not_use(make_model):
    darts = pack(ExportRequest(make_model("nb201"), "net"))[".py"].decode()
    assert "Separable" not in darts
    assert "ImageNetStem" not in darts
    assert "AdaptedCell" not in darts
    assert "PoolReduction" not in darts


def test_twenty_cells_are_written_no_longer_than_three(make_model):
    model = make_model("darts")
    longer = replace(model, net=make_model(model.net.space.resized(20)).net)
    texts = [pack(ExportRequest(each, "net"))[".py"].decode() for each in (model, longer)]
    assert abs(len(texts[0].splitlines()) - len(texts[1].splitlines())) < 5


def test_many_classes_with_strange_names(tmp_path, make_model):
    names = ('a "b"', "c'd", "e\\f", "both ' and \"", *map(str, range(96)))
    model = replace(make_model("nano", classes=100), classes=names)
    export_model(model, tmp_path / "net.py", "python")
    assert open_exported(tmp_path / "net.py", CPU).metadata.classes == names


def test_an_op_of_a_plugin_is_refused_by_name(tmp_path, make_model, monkeypatch):
    monkeypatch.setitem(OPS._values, "own_op", lambda site: nn.AvgPool2d(site.stride, site.stride))
    model = make_model(edge_space("own_op"))
    with pytest.raises(
        ModelError, match=r"'own_op' is not one that can be written.*onnx, torchscript or pt2"
    ):
        export_model(model, tmp_path / "net.py", "python")
    assert list(tmp_path.iterdir()) == []
    export_model(model, tmp_path / "net.pt", "torchscript")


class GatedConv(nn.Module):
    """A convolution times a gate that is computed by another."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.gate = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x) * torch.sigmoid(self.gate(x)))


class GatedOp(Op):
    """The same as an op, with another name for the gate."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.conv = nn.Conv2d(site.inputs, site.outputs, 3, site.stride, 1, bias=False)
        self.open = nn.Conv2d(site.inputs, site.outputs, 3, site.stride, 1)
        self.norm = site.norm()

    def body(self, x):
        return self.conv(x) * torch.sigmoid(self.open(x))

    def python_source(self):
        return PythonSource("partial(GatedConv, kernel=3)", {"open": "gate"}, (GatedConv,))


def test_an_op_of_a_plugin_brings_its_source_along(tmp_path, make_model, monkeypatch, alone):
    monkeypatch.setitem(OPS._values, "gated", GatedOp)
    model = make_model(edge_space("gated"))
    assert difference(model, tmp_path) < 1e-5
    text = (tmp_path / "net.py").read_text()
    assert text.count("class GatedConv(nn.Module):") == 1
    lint(text)
    alone(model, tmp_path, "import net\ncheck(net.build())")


def test_a_block_with_a_name_that_is_taken_is_refused(tmp_path, make_model, monkeypatch):
    taken = type("Separable", (GatedConv,), {})
    monkeypatch.setattr(GatedOp, "python_source", lambda _: PythonSource("Separable", blocks=(taken,)))
    monkeypatch.setitem(OPS._values, "gated", GatedOp)
    with pytest.raises(ModelError, match=r"'gated' is written with a block called 'Separable'.*another"):
        export_model(make_model(edge_space("gated")), tmp_path / "net.py", "python")


class ShiftedPool(MaxPool):
    """Computes something else than its parent."""

    def body(self, x):
        return super().body(x) + 1


def test_a_subclass_is_not_written_as_its_parent(tmp_path, make_model, monkeypatch):
    monkeypatch.setitem(OPS._values, "shifted", ShiftedPool)
    with pytest.raises(ModelError, match="'shifted' is not one that can be written"):
        export_model(make_model(edge_space("shifted")), tmp_path / "net.py", "python")


def test_a_stem_of_a_plugin_is_refused_by_name(tmp_path, make_model, monkeypatch):
    monkeypatch.setitem(STEMS._values, "own_stem", STEMS["small"])
    with pytest.raises(ModelError, match="stem 'own_stem' is not one"):
        export_model(make_model("darts", stem="own_stem"), tmp_path / "net.py", "python")


def test_partial_channels_are_refused(tmp_path, make_model):
    with pytest.raises(ModelError, match="one in 2 channels"):
        export_model(make_model("darts", partial=2), tmp_path / "net.py", "python")


@pytest.mark.parametrize("name", ["my-net", "1st", "class"])
def test_a_name_that_cannot_be_imported_is_refused(tmp_path, make_model, name):
    with pytest.raises(ModelError, match="cannot be imported"):
        export_model(make_model("nano"), tmp_path / f"{name}.py", "python")


@pytest.mark.parametrize("name", ["torch", "json", "PIL"])
def test_a_name_that_would_hide_a_module_is_refused(tmp_path, make_model, name):
    with pytest.raises(ModelError, match=f"would hide the module {name}"):
        export_model(make_model("nano"), tmp_path / f"{name}.py", "python")


def test_files_that_are_no_networks(tmp_path, make_model):
    export_model(make_model("nano"), tmp_path / "net.py", "python")
    (tmp_path / "net.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be built"):
        open_exported(tmp_path / "net.py", CPU)
    (tmp_path / "net.safetensors").unlink()
    with pytest.raises(ModelError, match=r"net\.safetensors"):
        open_exported(tmp_path / "net.py", CPU)
    (tmp_path / "other.py").write_text("x = 1\n")
    with pytest.raises(ModelError, match="does not say its classes"):
        open_exported(tmp_path / "other.py", CPU)
    (tmp_path / "bad.py").write_text("1 / 0\n")
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        open_exported(tmp_path / "bad.py", CPU)
    assert "net" not in sys.modules


NAMES = ("it's", 'say "a"', "both ' and \"", "back\\'slash", "new\nline", '""" os', "<script>", "ünï", "\\")


def test_any_name_of_a_class_is_written_as_it_is(tmp_path, make_model):
    """None of them ends the text that it stands in."""
    model = replace(make_model("nano", classes=len(NAMES)), classes=NAMES)
    export_model(model, tmp_path / "net.py", "python")
    assert run_file(tmp_path / "net.py").CLASSES == NAMES


def test_facts_cannot_bring_code(tmp_path, make_model):
    """Whatever a file of a model says of itself, what is written from it runs nothing else."""
    bad = f"1.0\n__import__('pathlib').Path({str(tmp_path / 'ran')!r}).touch()\nX=1"
    model = make_model("nano")
    model.facts.update(centre=bad, data=f'"""\n{bad}\n"""', seed=bad, epoch=bad)
    export_model(model, tmp_path / "net.py", "python")
    run_file(tmp_path / "net.py")
    assert not (tmp_path / "ran").exists()


def test_a_file_that_leaves_the_program_is_refused(tmp_path):
    (tmp_path / "net.py").write_text("import sys\nsys.exit(7)\n")
    with pytest.raises(ModelError, match="cannot be run"):
        open_exported(tmp_path / "net.py", torch.device("cpu"))


def test_all_weights_but_those_of_the_auxiliary_head_go_along(make_model):
    net = make_model("xnas", auxiliary=True).net
    own = [value for name, value in net.state_dict().items() if not name.startswith("auxiliary.")]
    found = list(exported_weights(net).values())
    assert len(found) == len(own)
    assert all(torch.equal(a, b) for a, b in zip(own, found, strict=True))


def test_norms_without_scales_get_some_that_change_nothing(make_model):
    found = exported_weights(make_model("darts", search=True).net)
    means = [name for name in found if name.endswith("running_mean")]
    scales = [found[name.replace("running_mean", "weight")] for name in means]
    assert sum(bool((scale == 1).all()) for scale in scales) > len(means) // 2
