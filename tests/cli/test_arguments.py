import os
import py_compile
from argparse import ArgumentTypeError
from pathlib import Path

import pytest
import torch

from dartboard.cli.arguments import (
    above_zero,
    announce_program,
    image_shape,
    load_images,
    load_plugins,
    number,
    positive,
    prepare_device,
)
from dartboard.cli.main import main
from dartboard.data import Dataset, ImageFiles, ImageSet
from dartboard.errors import DartboardError, DataError, OptionError, UnsafeFileError
from dartboard.export import Metadata
from dartboard.export.models import WHICH, find_model, find_network
from dartboard.export.python import run_file
from dartboard.nn import CellNet, Model, NetConfig, pack_model
from dartboard.space import adopt, enumerate_genotypes, get_space
from dartboard.train.evaluation import choose_images, class_indices
from helpers.image_folders import write_images


def test_numbers_and_shapes_are_read() -> None:
    assert positive("36") == 36
    assert positive("100000") == 100_000
    assert image_shape("3x32x48") == (3, 32, 48)
    assert image_shape("1X8X8") == (1, 8, 8)


@pytest.mark.parametrize(
    "text", ["0", "00", "-3", "1.5", "", "many", "²", "1_000", " 3", "100001", "9" * 5000]
)
def test_what_is_no_count_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="a whole number from 1 to 100,000") as caught:
        positive(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["32x32", "3x32x32x1", "3,32,32", "32", ""])
def test_what_is_no_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="like 3x32x32"):
        image_shape(text)


def test_a_shape_has_no_empty_side() -> None:
    with pytest.raises(ArgumentTypeError, match="from 1 to 100,000, got '0'"):
        image_shape("3x0x32")


def test_finite_numbers_are_read() -> None:
    assert [number(text) for text in ("-1.5", "0", "1e-3")] == [-1.5, 0.0, 0.001]
    assert above_zero("0.25") == 0.25


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "", "x"])
def test_what_is_no_finite_number_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"expected a number, got '{text}'"):
        number(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x"])
def test_what_is_not_above_zero_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"expected a number above 0, got '{text}'"):
        above_zero(text)


def test_the_default_is_what_the_machine_has() -> None:
    assert prepare_device(None, None).type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("device", ["toaster", "meta", "cuda:99"])
def test_a_device_that_cannot_be_used(device: str) -> None:
    with pytest.raises(OptionError, match=f"--device {device} cannot be used: .*; cpu always can"):
        prepare_device(device, None)


def test_threads() -> None:
    before = torch.get_num_threads()
    try:
        prepare_device("cpu", None)
        assert torch.get_num_threads() == before
        prepare_device("cpu", 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


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


def images(count):
    return ImageSet(torch.zeros(count, 1, 4, 4, dtype=torch.uint8), torch.zeros(count, dtype=torch.int64))


@pytest.mark.parametrize(
    ("sizes", "part"),
    [((3, 2, 1), "test"), ((3, 2, None), "valid"), ((3, None, None), "train"), ((3, None, 0), "train")],
)
def test_the_first_of_the_parts_that_there_are(sizes, part):
    train, valid, test = (None if size is None else images(size) for size in sizes)
    chosen = choose_images(Dataset("some", ("a", "b"), train, test, valid))
    assert chosen.part == part


def test_a_part_that_there_is_not_is_named():
    data = Dataset("some", ("a", "b"), images(3), images(2))
    assert str(choose_images(data, "train")) == "3 training images of some"
    with pytest.raises(DataError, match="no validation images; use --part test or --part train"):
        choose_images(data, "valid")


def test_places_of_classes():
    assert class_indices(("a", "b"), ("a", "b")).tolist() == [0, 1]
    assert class_indices(("c", "a", "b"), ("a", "b", "c")).tolist() == [2, 0, 1]
    assert class_indices(("a", "a"), ("a", "a")).tolist() == [0, 1]
    for classes in (("a", "b", "c"), ("a",), ("a", "d"), ("b", "b")):
        with pytest.raises(DataError, match="tells a, b apart"):
            class_indices(classes, ("a", "b"))


@pytest.mark.parametrize(("crop_pct", "kind"), [(1.0, ImageSet), (0.875, ImageFiles)])
def test_the_middle_of_images_is_that_of_their_files(tmp_path, crop_pct, kind):
    metadata = Metadata(("cat", "dog"), (3, 8, 8), (0.0,) * 3, (1.0,) * 3, crop_pct)
    assert isinstance(load_images(str(write_images(tmp_path / "photos")), metadata).train, kind)


@pytest.mark.parametrize("name", ["net.py", "net.pt", "net.onnx", "net.pt2", "missing.py"])
def test_a_file_that_runs_code_is_announced(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name != "missing.py":
        (tmp_path / name).touch()
    announce_program(tmp_path / name)
    kinds = {"net.py": "a Python program", "net.pt": "a TorchScript program"}
    notice = f"dartboard: running {tmp_path / name}, {kinds.get(name)}: use only those you trust\n"
    assert capsys.readouterr() == ("", notice if name in kinds else "")


def test_a_plugin_is_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "announced.py"
    plugin.write_text("print('hello')")
    assert load_plugins([str(plugin)]) == [str(plugin.resolve())]
    notice = f"dartboard: running {plugin}, a Python program: use only those you trust"
    assert capsys.readouterr() == ("", f"{notice}\nhello\n")


def test_a_plugin_that_is_too_large_is_not_run(tmp_path: Path) -> None:
    plugin = tmp_path / "large.py"
    plugin.write_text("raise AssertionError('it runs')")
    os.truncate(plugin, 2**40)  # sparse
    with pytest.raises(UnsafeFileError, match="1,099,511,627,776 bytes"):
        load_plugins([str(plugin)])


def test_bytecode_beside_a_file_is_not_run(tmp_path: Path) -> None:
    source = tmp_path / "honest.py"
    source.write_text("print('replaced')")
    cached = py_compile.compile(str(source))
    assert cached is not None
    source.write_text("VALUE = 'honest'\n" + "#" * 60)
    stamp = source.stat()
    data = bytearray(Path(cached).read_bytes())
    data[8:16] = int(stamp.st_mtime).to_bytes(4, "little") + stamp.st_size.to_bytes(4, "little")
    Path(cached).write_bytes(data)  # as Python would take it
    assert run_file(source).VALUE == "honest"


OPENS_NETWORKS = (
    "evaluate",
    *(f"analyse {tool}" for tool in ("landscape", "hessian", "line", "trajectory", "convergence")),
)


@pytest.mark.parametrize(
    "command", [*OPENS_NETWORKS, "search", "train", "protocol", "sweep", "bench", "export", "list"]
)
def test_help_says_what_runs_code(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "only files that you trust" in text
