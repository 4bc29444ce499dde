"""Folders of small images and files of published data sets, as their authors lay them out."""

import gzip
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from dartboard.data import DATASETS, Dataset, ImageFiles, published_datasets

RNG = np.random.default_rng(0)


def change_published(monkeypatch: pytest.MonkeyPatch, name: str, **fields: Any) -> None:
    """Change fields of a published data set during a test."""
    monkeypatch.setitem(DATASETS._values, name, replace(published_datasets()[name], **fields))


def files_and_classes(data: Dataset) -> list[tuple[str, str]]:
    """File and class of every image, of training and then of test."""
    pairs = []
    for images in (data.train, data.test):
        assert isinstance(images, ImageFiles)
        names = [data.classes[label] for label in images.labels.tolist()]
        pairs += list(zip([Path(file).name for file in images.files], names, strict=True))
    return pairs


def pixels(*shape: int) -> NDArray[np.uint8]:
    return RNG.integers(256, size=shape, dtype=np.uint8)


def write_image(path: Path, size: tuple[int, int] = (8, 6), mode: str = "RGB", **options: Any) -> Path:
    """Write a random image of a width and height; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels(size[1], size[0], 3)).convert(mode)
    image.save(path, **options)
    return path


def write_images(
    folder: Path,
    classes: Mapping[str, int] | Sequence[str] = ("cat", "dog"),
    *,
    size: tuple[int, int] = (8, 6),
    mode: str = "RGB",
) -> Path:
    """Writes some images of each class."""
    counts = classes if isinstance(classes, Mapping) else dict.fromkeys(classes, 3)
    for name, count in counts.items():
        for number in range(count):
            write_image(folder / name / f"{number}.png", size, mode)
    return folder


def labels(count: int, classes: int) -> list[int]:
    return [number % classes for number in range(count)]


def cifar10_names() -> list[str]:
    return ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def cifar10_binary(folder: Path, count: int = 4) -> dict[str, NDArray[np.uint8]]:
    """Writes the binary version; returns the pixels of each file."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for place, name in enumerate([*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]):
        written[name] = pixels(count, 3, 32, 32)
        rows = np.hstack([np.full((count, 1), place, np.uint8), written[name].reshape(count, -1)])
        (folder / name).write_bytes(rows.tobytes())
    (folder / "batches.meta.txt").write_text("\n".join(cifar10_names()) + "\n\n")
    return written


def cifar100_binary(folder: Path, count: int = 4) -> dict[str, NDArray[np.uint8]]:
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name in ("train.bin", "test.bin"):
        written[name] = pixels(count, 3, 32, 32)
        marks = np.array([[7, 99 - n] for n in range(count)], np.uint8)
        (folder / name).write_bytes(np.hstack([marks, written[name].reshape(count, -1)]).tobytes())
    (folder / "fine_label_names.txt").write_text("\n".join(f"fine{n}" for n in range(100)) + "\n")
    (folder / "coarse_label_names.txt").write_text("\n".join(f"coarse{n}" for n in range(20)) + "\n")
    return written


def dump(path: Path, value: object, protocol: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(value, protocol))


def cifar10_python(folder: Path, count: int = 4, protocol: int = 2) -> dict[str, NDArray[np.uint8]]:
    """Writes the pickled version; returns the pixels of each file."""
    written = {}
    for place, name in enumerate([*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]):
        written[name] = pixels(count, 3, 32, 32)
        batch = {
            b"batch_label": name.encode(),
            b"labels": [place] * count,
            b"data": written[name].reshape(count, -1),
            b"filenames": [b"%d.png" % n for n in range(count)],
        }
        dump(folder / name, batch, protocol)
    meta = {b"label_names": [name.encode() for name in cifar10_names()], b"num_cases_per_batch": 10000}
    dump(folder / "batches.meta", meta, protocol)
    return written


def cifar100_python(folder: Path, count: int = 4) -> dict[str, NDArray[np.uint8]]:
    written = {}
    for name in ("train", "test"):
        written[name] = pixels(count, 3, 32, 32)
        fine = [99 - n for n in range(count)]
        flat = written[name].reshape(count, -1)
        dump(folder / name, {b"data": flat, b"fine_labels": fine, b"coarse_labels": [7] * count})
    dump(folder / "meta", {b"fine_label_names": [f"fine{n}".encode() for n in range(100)]})
    return written


def idx(array: NDArray[np.uint8], magic: int) -> bytes:
    return np.array([magic, *array.shape], ">u4").tobytes() + array.tobytes()


def idx_files(
    folder: Path, count: int = 5, *, packed: bool = True, labels: Sequence[int] | None = None
) -> dict[str, NDArray[np.uint8]]:
    """Writes the four files of MNIST; returns the pixels of each part."""
    marks = np.array(range(count) if labels is None else labels, np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for part in ("train", "t10k"):
        written[part] = pixels(count, 28, 28)
        files = {
            f"{part}-images-idx3-ubyte": idx(written[part], 0x803),
            f"{part}-labels-idx1-ubyte": idx(marks, 0x801),
        }
        for name, data in files.items():
            place = folder / (f"{name}.gz" if packed else name)
            place.write_bytes(gzip.compress(data) if packed else data)
    return written


def svhn(folder: Path, count: int = 10) -> dict[str, NDArray[np.uint8]]:
    """Writes the two files of SVHN, whose labels are 1 to 10; returns the pixels as they are written."""
    from scipy.io import savemat

    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for part in ("train", "test"):
        written[part] = pixels(32, 32, 3, count)
        marks = np.arange(1, count + 1, dtype=np.uint8)[:, None]
        savemat(folder / f"{part}_32x32.mat", {"X": written[part], "y": marks}, do_compression=True)
    return written


def imagenet16(folder: Path) -> dict[str, NDArray[np.uint8]]:
    """Writes the batches of ImageNet16 with the labels 1, 120, 121 and 1000 each."""
    written = {}
    for name in [*(f"train_data_batch_{n}" for n in range(1, 11)), "val_data"]:
        written[name] = pixels(4, 3, 16, 16)
        batch = {"data": written[name].reshape(4, -1), "labels": [1, 120, 121, 1000], "mean": np.zeros(768)}
        dump(folder / name, batch, 3)
    return written


def tiny_imagenet(folder: Path) -> Path:
    """Writes Tiny-ImageNet of three classes, two of which have the same first word."""
    numbers = ("n03", "n01", "n02")
    for number in numbers:
        write_image(folder / "train" / number / "images" / f"{number}_0.JPEG", (64, 64))
        (folder / "train" / number / f"{number}_boxes.txt").write_text("boxes")
    for place in range(3):
        write_image(folder / "val" / "images" / f"val_{place}.JPEG", (64, 64))
    write_image(folder / "test" / "images" / "test_0.JPEG", (64, 64))
    (folder / "wnids.txt").write_text("\n".join(numbers) + "\n")
    (folder / "words.txt").write_text("n01\tcrane, bird\nn02\tcrane, machine\nn03\tsock\nn99\tother\n")
    notes = [f"val_{place}.JPEG\t{number}\t0\t0\t9\t9\n" for place, number in enumerate(numbers)]
    (folder / "val" / "val_annotations.txt").write_text("".join(notes))
    return folder


def freiburg(folder: Path) -> Path:
    """Writes the Freiburg groceries of two classes, which are not in the order of their names."""
    for name in ("BEANS", "CANDY"):
        for number in range(3):
            write_image(folder / "images" / name / f"{name}{number}.png", (16, 16))
    (folder / "splits").mkdir()
    train = ["BEANS/BEANS0.png 1", "BEANS/BEANS1.png 1", "CANDY/CANDY0.png 0"]
    (folder / "splits" / "train0.txt").write_text("\n".join(train) + "\n")
    (folder / "splits" / "test0.txt").write_text("BEANS/BEANS2.png 1\nCANDY/CANDY1.png 0\n")
    return folder
