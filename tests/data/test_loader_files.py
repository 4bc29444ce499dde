"""Loaders whose images are read, or changed one by one, by worker processes."""

import gc
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from dartboard.data import (
    CENTER_CROP,
    Augment,
    Batch,
    BatchLoader,
    ImageFiles,
    ImageSet,
    evaluation_batches,
    load_dataset,
)
from dartboard.data.loader import read_center_crop
from dartboard.data.transforms import center_box, crop_and_resize
from dartboard.errors import DataError
from helpers import torchvision_shim, worker_functions

STEPS = [0, 1, 2, 3, 4, 5, 11, 12, 4, 0, 0]
"""Steps of several passes, with jumps ahead and back."""
ALL = Augment(pad=1, flip=True, cutout=3, area=0.3)
needs_torchvision = pytest.mark.skipif(
    not torchvision_shim.torchvision_available(), reason="needs torchvision"
)


@pytest.fixture
def files(tmp_path: Path) -> ImageFiles:
    return worker_functions.random_image_files(tmp_path, 14, lambda number: (9 + number, 30 - number))


def make_loader(images: ImageFiles | ImageSet, **options: Any) -> BatchLoader:
    standard = {"batch": 4, "seed": 3, "name": "train", "augment": ALL}
    channels = images.shape[0]
    scales = {"mean": [100.0] * channels, "std": [50.0] * channels}
    return BatchLoader(images, **(standard | scales | options))


def same(one: Batch, other: Batch) -> bool:
    return torch.equal(one.x, other.x) and torch.equal(one.y, other.y)


def test_any_number_of_workers_gives_the_same_bits(files: ImageFiles) -> None:
    plain = make_loader(files)
    for workers in (1, 2):
        source = make_loader(files, workers=workers)
        assert all(same(source.batch(step), plain.batch(step)) for step in STEPS)
        source.close()


def test_who_starts_in_the_middle_sees_the_same(files: ImageFiles) -> None:
    through, late = make_loader(files, workers=2), make_loader(files, workers=2)
    seen = [through.batch(step) for step in range(8)]
    assert all(same(late.batch(step), seen[step]) for step in range(5, 8))


@pytest.mark.parametrize("augment", [Augment(), Augment(pad=2, flip=True, cutout=3)])
def test_files_are_varied_as_images_in_memory_are(files: ImageFiles, augment: Augment) -> None:
    held, read = make_loader(files.load(), augment=augment), make_loader(files, augment=augment)
    assert read.steps == held.steps == 3
    assert all(same(read.batch(step), held.batch(step)) for step in STEPS)


def test_parts_of_small_files_are_those_of_images_in_memory(tmp_path: Path) -> None:
    images = worker_functions.random_image_files(tmp_path, 8, lambda _: (8, 8))
    only = {"augment": Augment(area=0.2), "mean": [0] * 3, "std": [1] * 3}
    held, read = make_loader(images.load(), **only).batch(2), make_loader(images, **only).batch(2)
    assert torch.equal(held.y, read.y)
    assert (held.x - read.x).abs().max() <= 1  # Pillow rounds between rows and columns
    assert (held.x - make_loader(images, **only | {"augment": Augment()}).batch(2).x).abs().max() > 20


def test_gray_files(tmp_path: Path) -> None:
    images = worker_functions.random_image_files(tmp_path, 8, lambda _: (10, 12), channels=1)
    assert make_loader(images).batch(0).x.shape == (4, 1, 8, 8)


def test_names_relative_to_where_the_program_is_now(
    files: ImageFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = make_loader(files).batch(0)
    monkeypatch.chdir(Path(files.files[0]).parent)
    near = ImageFiles(tuple(Path(file).name for file in files.files), files.labels, files.shape)
    source = make_loader(near, workers=1)
    assert same(source.batch(0), expected)
    source.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_file_is_one_clear_line(files: ImageFiles, workers: int) -> None:
    Path(files.files[5]).write_bytes(b"no image")
    source = make_loader(files, workers=workers)
    with pytest.raises(DataError) as raised:
        list(map(source.batch, range(6)))
    assert str(raised.value) == f"{files.files[5]}: cannot be read as an image (no image of a known kind)"
    assert multiprocessing.active_children() == []


def test_loaders_end_when_they_are_closed_or_gone(files: ImageFiles) -> None:
    many = [make_loader(files, workers=1, seed=seed) for seed in range(4)]
    for source in many:
        source.batch(0)
    assert len(multiprocessing.active_children()) == 4
    many[0].close()
    del many, source
    gc.collect()
    assert multiprocessing.active_children() == []
    make_loader(files.load()).close()  # nothing to end


def test_another_augmentation_is_given_the_files(files: ImageFiles) -> None:
    def halves(x: Tensor, mean: Tensor, std: Tensor, _: torch.Generator) -> Tensor:
        assert x.dtype == torch.uint8
        return (x - mean[0]) / std[0] / 2

    source = make_loader(files, augment=halves, workers=1)
    assert torch.equal(source.batch(1).x, make_loader(files, augment=Augment()).batch(1).x / 2)
    source.close()


def test_other_kinds_of_images_are_loaded(files: ImageFiles) -> None:
    class Elsewhere:
        labels, shape, load = files.labels, files.shape, files.load

        def __len__(self) -> int:
            return len(files)

    assert same(make_loader(Elsewhere()).batch(1), make_loader(files.load()).batch(1))  # type: ignore[arg-type]


@needs_torchvision
@pytest.mark.parametrize("kind", ["files", "grey", "memory"])
def test_autoaugment_is_the_same_for_any_number_of_workers(kind: str, tmp_path: Path) -> None:
    channels = 1 if kind == "grey" else 3
    images = worker_functions.random_image_files(tmp_path, 12, lambda number: (9 + number, 20), channels)
    given = {"augment": worker_functions.Vision(pad=1, flip=True, cutout=2, area=0.5, autoaugment="cifar10")}
    some = images.load() if kind == "memory" else images
    plain = make_loader(some, **given)
    assert not same(plain.batch(1), make_loader(some, augment=Augment(1, True, 2, 0.5)).batch(1))
    for workers in (1, 2) if kind == "files" else (2,):
        source = make_loader(some, **given, workers=workers)
        assert all(same(source.batch(step), plain.batch(step)) for step in (0, 1, 2, 3, 9))
        source.close()


@needs_torchvision
def test_autoaugment_in_workers_is_the_augmentation_itself() -> None:
    data, own = (
        load_dataset("digits"),
        worker_functions.Vision(pad=1, flip=True, cutout=2, autoaugment="svhn"),
    )
    scales = {"mean": data.mean, "std": data.std}
    aside = make_loader(data.train, **scales, augment=own).batch(5)
    here = make_loader(data.train, **scales, augment=own.__call__).batch(5)
    assert same(aside, here)


@pytest.mark.parametrize("batch", [1, 5, 14, 64])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_evaluation_over_files_is_one_over_images_in_memory(
    files: ImageFiles, batch: int, workers: int
) -> None:
    given = {"batch": batch, "mean": [90] * 3, "std": [40] * 3}
    read = list(evaluation_batches(files, **given, workers=workers))
    held = list(evaluation_batches(files.load(), **given))
    assert len(read) == len(held)
    assert all(same(one, other) for one, other in zip(read, held, strict=True))
    assert multiprocessing.active_children() == []


def test_a_limited_evaluation_over_files(files: ImageFiles) -> None:
    batches = list(evaluation_batches(files, batch=2, mean=[0] * 3, std=[1] * 3, limit=7))
    assert torch.equal(torch.cat([batch.y for batch in batches]), files.labels[::2])


def test_an_evaluation_over_no_files_is_empty(files: ImageFiles) -> None:
    nothing = files.take(torch.empty(0, dtype=torch.int64))
    assert list(evaluation_batches(nothing, batch=2, mean=[0] * 3, std=[1] * 3)) == []


def test_an_evaluation_that_is_given_up_ends_its_workers(files: ImageFiles) -> None:
    batches = evaluation_batches(files, batch=2, mean=[0] * 3, std=[1] * 3, workers=2)
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    del batches
    gc.collect()
    assert multiprocessing.active_children() == []


def test_an_evaluation_can_crop_the_center(files: ImageFiles) -> None:
    plain = {"batch": 14, "mean": [0] * 3, "std": [1] * 3}
    (read,) = evaluation_batches(files, **plain, crop_pct=CENTER_CROP)
    expected = torch.stack([read_center_crop(file, files.shape, CENTER_CROP) for file in files.files])
    assert torch.equal(read.x, expected.float())
    (held,) = evaluation_batches(files.load(), **plain, crop_pct=CENTER_CROP)
    box = center_box(CENTER_CROP, 8, 8).float().expand(14, -1)
    assert torch.equal(held.x, crop_and_resize(files.load().images, box).float())


@pytest.mark.parametrize("crop_pct", [0, -1, 1.5])
def test_a_middle_that_is_none_is_refused_at_once(files: ImageFiles, crop_pct: float) -> None:
    with pytest.raises(DataError, match="crop_pct must be a fraction above 0, at most 1"):
        evaluation_batches(files, batch=2, mean=[0] * 3, std=[1] * 3, crop_pct=crop_pct)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_graphics_card_sees_the_same_files(files: ImageFiles, workers: int) -> None:
    here, source = make_loader(files), make_loader(files, workers=workers, device="cuda")
    for step in STEPS:
        there = source.batch(step)
        assert there.x.device.type == there.y.device.type == "cuda"
        assert torch.equal(there.y.cpu(), here.batch(step).y)
        torch.testing.assert_close(there.x.cpu(), here.batch(step).x)
    source.close()
