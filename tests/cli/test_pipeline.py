"""A folder of real images, and from there on the command line alone: search, train, export, evaluate."""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dartboard.data import ImageSet, load_dataset
from dartboard.runs import Run, list_checkpoints
from helpers.kills import PATIENCE, running_process

PROGRAM = Path(sys.executable).with_name("dartboard")


def write_folder(folder: Path, images: np.ndarray, labels: np.ndarray, names: tuple[str, ...]) -> None:
    """PNG files in a folder for each class; images [N, H, W] or [N, H, W, 3]."""
    for name in names:
        (folder / name).mkdir(parents=True)
    for place, (image, label) in enumerate(zip(images, labels, strict=True)):
        Image.fromarray(image).save(folder / names[label] / f"{place:05d}.png")


def digits(folder: Path) -> None:
    """Training images alone: 400 digits, gray, sixteen times as bright as the embedded ones."""
    whole = load_dataset("digits")
    assert isinstance(whole.train, ImageSet)
    images, labels = whole.train.images[:400, 0].numpy(), whole.train.labels[:400].numpy()
    write_folder(folder, np.minimum(images * 16, 255).astype(np.uint8), labels, whole.classes)


def cifar(folder: Path) -> None:
    """Training and test images, in color."""
    place = Path(os.environ.get("DARTBOARD_DATA", "nowhere")) / "cifar10-10k.npz"
    if not place.is_file():
        pytest.skip("DARTBOARD_DATA does not name a folder with cifar10-10k.npz")
    arrays = np.load(place)
    names = tuple(map(str, arrays["class_names"]))
    for part, count in (("train", 300), ("test", 100)):
        x, y = arrays[f"x_{part}"][:count], arrays[f"y_{part}"][:count]
        write_folder(folder / part, x, y, names)


class Shell:
    """The program in a folder; the first time a thing runs it is interrupted and has to go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: object) -> dict:
        """What the program says as JSON."""
        with self._start(*words) as process:
            printed, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
        return json.loads(printed)

    def run_interrupted(self, verb: str, *words: object) -> dict:
        """The same of a verb that writes to `--out` and is stopped on its way."""
        path = self.folder / str(words[words.index("--out") + 1])
        with self._start(verb, *words, "checkpoint.steps=1") as process:
            while not list_checkpoints(path / "checkpoints"):
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 128 + signal.SIGINT
        assert Run.read(path).state == "stopped"
        return self.run(verb, "--resume", path)

    def _start(self, *words: object):
        return running_process([PROGRAM, *words, "--json"], cwd=self.folder)


@pytest.mark.parametrize("make", [digits, cifar])
@pytest.mark.product(keep=1)
def test_from_a_folder_of_images_to_a_network_that_others_can_run(tmp_path: Path, make) -> None:
    make(tmp_path / "images")
    shell = Shell(tmp_path)
    small = ("batch=32", "net.channels=4", "--threads", 1)
    found = shell.run_interrupted(
        "search", "--space", "nano", "--data", "images", "--out", "found", "--epochs", 2, *small
    )
    trained = shell.run_interrupted(
        "train", "found", "--recipe", "quick", "--epochs", 4, "--out", "trained", *small
    )
    part = trained["measured_on"]
    assert part == ("valid" if make is digits else "test")
    assert trained["last"][part]["top1"] > 0.15
    assert Run.read(tmp_path / "trained").config["data"]["name"] == str(tmp_path / "images")
    assert found["genotype"]

    words = ("--data", "images", "--which", "last", *(("--part", "train") if make is digits else ()))
    own = shell.run("evaluate", "trained", *words)
    exported = shell.run("export", "trained", "--format", "onnx", "--out", "net.onnx", "--which", "last")
    assert exported["difference"] < 1e-4
    other = shell.run("evaluate", "net.onnx", *(word for word in words if word not in ("--which", "last")))
    assert other["top1"] == own["top1"]
    assert other["confusion"] == own["confusion"]
    if make is cifar:
        assert own["top1"] == trained["last"]["test"]["top1"]
        assert own["confusion"] == trained["last"]["test"]["confusion"]
