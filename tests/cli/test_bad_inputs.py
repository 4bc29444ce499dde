"""What is wrong with an input is said in one line, with exit code 2, and nothing is lost."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dartboard.cli.main import main
from helpers.console import error_line

Capture = pytest.CaptureFixture[str]
TINY = ("epochs=1", "batch=4", "net.channels=4", "net.auxiliary=0", "data.cutout=0", "--quiet")
pytestmark = pytest.mark.usefixtures("own_folder")


def contents() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file() and path.name != "lock"}


def refused(capsys: Capture, *words: object) -> str:
    """The one line that is said; nothing in the folder is another afterwards."""
    before = contents()
    said = error_line(capsys, *words)
    assert contents() == before
    return said


def idx(images: int = 12, labels: int = 12, cut: int = 0) -> Path:
    """A folder with the files of MNIST, small, and with as many bytes missing as asked."""
    folder = Path("mine")
    folder.mkdir()
    for part in ("train", "t10k"):
        pixels = struct.pack(">iiii", 0x803, images, 8, 8) + bytes(range(64)) * images
        numbers = struct.pack(">ii", 0x801, labels) + bytes(place % 10 for place in range(labels))
        whole = pixels if part == "t10k" or not cut else pixels[:-cut]
        (folder / f"{part}-images-idx3-ubyte").write_bytes(whole)
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(numbers))
    return folder


def photos(**counts: int) -> Path:
    """A folder with so many images of each class."""
    rng, folder = np.random.default_rng(0), Path("photos")
    for name, count in counts.items():
        (folder / name).mkdir(parents=True)
        for place in range(count):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{place}.png")
    return folder


VERBS: list[Callable[[Path], tuple[object, ...]]] = [
    lambda data: ("search", "--space", "nano", "--data", data),
    lambda data: ("train", "darts-v2", "--data", data, *TINY),
    lambda data: ("data", "show", data),
]


@pytest.mark.parametrize("words", VERBS)
def test_a_file_that_was_cut_short(words: Callable[[Path], tuple[object, ...]], capsys: Capture) -> None:
    said = refused(capsys, *words(idx(cut=7)))
    assert "mine/train-images-idx3-ubyte" in said


def test_a_folder_called_like_a_data_set(capsys: Capture) -> None:
    idx().rename("kmnist")
    assert "what is called kmnist here is read as ./kmnist" in refused(capsys, "data", "show", "kmnist")
    assert main(["data", "show", "./kmnist"]) == 0


@pytest.mark.parametrize("words", VERBS)
def test_too_few_labels(words: Callable[[Path], tuple[object, ...]], capsys: Capture) -> None:
    said = refused(capsys, *words(idx(labels=11)))
    assert "12" in said
    assert "11" in said


@pytest.mark.parametrize("words", VERBS)
def test_a_single_class(words: Callable[[Path], tuple[object, ...]], capsys: Capture) -> None:
    assert "cat" in refused(capsys, *words(photos(cat=3)))


@pytest.mark.parametrize("words", VERBS)
def test_an_empty_class(words: Callable[[Path], tuple[object, ...]], capsys: Capture) -> None:
    assert "bird" in refused(capsys, *words(photos(cat=3, dog=3, bird=0)))


def test_an_image_that_cannot_be_read_is_left_out_and_counted(capsys: Capture) -> None:
    folder = photos(cat=6, dog=6)
    whole = (folder / "cat" / "0.png").read_bytes()
    (folder / "cat" / "0.png").write_bytes(whole[: len(whole) // 2])
    (folder / "dog" / "text.png").write_text("no image")
    assert main(["data", "show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "cat/0.png" in out
    assert "dog/text.png" in out
    assert main(["train", "darts-v2", "--data", str(folder), "--out", "run", *TINY, "net.cells=3"]) == 0
    assert "2" in capsys.readouterr().err + (Path("run") / "log.txt").read_text()


def test_a_class_of_which_nothing_can_be_read(capsys: Capture) -> None:
    folder = photos(cat=3, dog=1)
    (folder / "dog" / "0.png").write_bytes(b"\x89PNG")
    assert "dog" in refused(capsys, "train", "darts-v2", "--data", folder, *TINY)


def test_a_folder_that_cannot_be_written_to(capsys: Capture) -> None:
    for out in ("/proc/run", "/dev/null/run"):
        said = refused(capsys, "train", "darts-v2", "--data", photos_once(), *TINY, "--out", out)
        assert out.rpartition("/")[0] in said


def photos_once() -> Path:
    return Path("photos") if Path("photos").exists() else photos(cat=6, dog=6)


def test_a_genotype_of_another_space(capsys: Capture) -> None:
    text = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|none~0|avg_pool_3x3~1|nor_conv_3x3~2|"
    assert "'darts'" in refused(capsys, "train", text, "--space", "darts", *TINY)
    assert "'asm'" in refused(capsys, "train", text, "--space", "asm", *TINY)
    assert "'nb201'" in refused(capsys, "train", "darts-v2", "--space", "nb201", *TINY)


def test_a_model_of_another_kind(capsys: Capture) -> None:
    Path("net.safetensors").write_bytes(b"\x00" * 40)
    Path("net.onnx").write_bytes(b"not a network")
    for model in ("net.safetensors", "net.onnx", "net.pt", "net.xyz", "nowhere"):
        assert model in refused(capsys, "evaluate", model, "--data", "digits")
    assert "net.safetensors" in refused(capsys, "export", "net.safetensors", "--format", "onnx")


def test_images_of_other_classes_and_channels(capsys: Capture) -> None:
    folder = photos(cat=6, dog=6)
    words = ("train", "darts-v2", "--data", str(folder), "--out", "run", *TINY, "net.cells=3")
    assert main([*words]) == 0
    capsys.readouterr()
    refused(capsys, "evaluate", "run", "--data", "digits")
    (folder / "dog").rename(folder / "wolf")
    assert "wolf" in refused(capsys, "evaluate", "run", "--data", folder)
    refused(capsys, "export", "run", "--format", "onnx", "--out", "/dev/null/net.onnx")
    assert "did you mean 'onnx'?" in refused(capsys, "export", "run", "--format", "onx")
