import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import dartboard.data.datasets.folder as folder_module
from dartboard.data import Dataset, ImageFiles, ImageSet, LoadOptions, load_dataset
from dartboard.errors import DataError
from helpers.image_folders import write_image, write_images

IN_FILES = LoadOptions(memory=0)


def load(path: Path, loading: LoadOptions | None = None) -> Dataset:
    return load_dataset(str(path), loading)


def counts(data: Dataset) -> dict[str, list[int]]:
    """Examples of each class, by part."""
    parts = {"train": data.train, "valid": data.valid, "test": data.test}
    return {
        name: part.labels.bincount(minlength=len(data.classes)).tolist()
        for name, part in parts.items()
        if part is not None
    }


def test_each_subfolder_is_a_class(tmp_path: Path) -> None:
    write_images(tmp_path / "pets", {"dog": 2, "cat": 3, "Zebra": 1})
    data = load(tmp_path / "pets")
    assert (data.name, data.classes) == ("pets", ("Zebra", "cat", "dog"))
    assert counts(data) == {"train": [1, 3, 2]}
    assert data.shape == (3, 6, 8)


def test_pixels_are_those_of_the_files(tmp_path: Path) -> None:
    write_images(tmp_path)
    data = load(tmp_path)
    assert isinstance(data.train, ImageSet)
    for number, name in enumerate(["cat/0", "cat/1", "cat/2", "dog/0", "dog/1", "dog/2"]):
        expected = np.array(Image.open(tmp_path / f"{name}.png")).transpose(2, 0, 1)
        assert np.array_equal(data.train.images[number].numpy(), expected)


def test_endings_of_any_case_at_any_depth_count_and_hidden_things_do_not(tmp_path: Path) -> None:
    write_images(tmp_path)
    for name in ("a.JPG", "b.Jpeg", "c.webp", "d.bmp", "deep/er/e.PNG"):
        write_image(tmp_path / "cat" / name)
    for name in (".h.png", ".hidden/h.png", "../.cache/h.png"):
        write_image(tmp_path / "cat" / name)
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    (tmp_path / "dog" / "folder.png").mkdir()
    assert counts(load(tmp_path)) == {"train": [8, 3]}


def test_images_beside_the_classes_are_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_images(tmp_path)
    write_image(tmp_path / "loose.png")
    assert counts(load(tmp_path)) == {"train": [3, 3]}
    assert "1 images are in no class's folder and are left out" in caplog.text


@pytest.mark.parametrize("name", ["val", "valid", "validation", "Val"])
def test_validation_images_without_test_images_are_the_test(tmp_path: Path, name: str) -> None:
    write_images(tmp_path / "train", {"a": 1, "b": 2})
    write_images(tmp_path / name, {"a": 3, "b": 4})
    write_images(tmp_path / "other", {"c": 1})
    assert counts(load(tmp_path)) == {"train": [1, 2], "test": [3, 4]}


def test_all_three_parts(tmp_path: Path) -> None:
    for number, part in enumerate(("train", "val", "test"), 1):
        write_images(tmp_path / part, {"a": number, "b": 1})
    assert counts(load(tmp_path)) == {"train": [1, 1], "valid": [2, 1], "test": [3, 1]}


@pytest.mark.parametrize(("train", "test"), [("train", "test"), ("training", "testing"), ("Train", "Test")])
def test_train_and_test(tmp_path: Path, train: str, test: str) -> None:
    write_images(tmp_path / train, {"a": 1, "b": 2})
    write_images(tmp_path / test, {"a": 3, "b": 4})
    assert counts(load(tmp_path)) == {"train": [1, 2], "test": [3, 4]}


def test_test_images_without_classes_are_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_images(tmp_path / "train")
    write_images(tmp_path / "val", {"cat": 1, "dog": 1})
    write_image(tmp_path / "test" / "1.png")
    assert counts(load(tmp_path)) == {"train": [3, 3], "test": [1, 1]}
    assert "test: its 1 images have no classes and are left out" in caplog.text


def test_validation_images_without_classes_are_a_mistake_that_says_what_to_do(tmp_path: Path) -> None:
    write_images(tmp_path / "train")
    write_image(tmp_path / "val" / "1.png")
    with pytest.raises(DataError, match=r"val: has 1 images but no folder for each class; move .* val/CLASS"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["train", "test", "validation"])
def test_a_class_may_be_called_like_a_part(tmp_path: Path, name: str) -> None:
    write_images(tmp_path, ["bus", name])
    assert load(tmp_path).classes == ("bus", name)


def no_train(path: Path) -> None:
    write_images(path / "val")
    write_images(path / "test")


def only_test(path: Path) -> None:
    write_images(path / "cat", ["young", "old"])
    write_images(path / "test")


def loose_train(path: Path) -> None:
    write_image(path / "train" / "1.png")
    write_images(path / "test")


def loose_both(path: Path) -> None:
    write_images(path, ["training", "test"])


def both_parts(path: Path) -> None:
    write_images(path / "train")
    write_images(path / "val")
    write_images(path / "valid")


def other_classes(path: Path) -> None:
    write_images(path / "train")
    write_images(path / "test", ["cat", "fox", "cow"])


def fewer_classes(path: Path) -> None:
    write_images(path / "train")
    write_images(path / "val", ["cat"])


def empty_class(path: Path) -> None:
    write_images(path)
    (path / "fox").mkdir()


def empty_test_class(path: Path) -> None:
    write_images(path / "train")
    write_images(path / "test", ["cat"])
    (path / "test" / "dog").mkdir()


def broken_class(path: Path) -> None:
    write_images(path)
    for file in (path / "dog").iterdir():
        file.write_text("no image")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "has no images; put those of each class in a folder of their own"),
        (lambda path: write_image(path / "1.png"), "has 1 images but no folders; put those of each class in"),
        (lambda path: write_images(path, ["cat"]), "has the single class 'cat'; there must be at least two"),
        (lambda path: write_images(path / "train", ["cat"]), "has the single class 'cat'"),
        (empty_class, "fox: the class is empty; every folder in .* is a class and needs images"),
        (empty_test_class, "test/dog: the class is empty"),
        (broken_class, "class 'dog' of train is empty: none of its 3 files can be read"),
        (
            other_classes,
            "test: its classes are not .*: it lacks 'dog' and has 'cow', 'fox' which the training",
        ),
        (fewer_classes, "val: its classes are not those of the training images: it lacks 'dog'$"),
        (no_train, "has 'test' and 'val', but no 'train' beside; put the training images into train/CLASS"),
        (only_test, "has 'test', but no 'train' beside"),
        (loose_train, "has 'test' and 'train', but 'train' has no folder for each class; put"),
        (loose_both, "has 'test' and 'training', but .* images into training/CLASS"),
        (both_parts, "has both 'val' and 'valid'; remove one of them"),
    ],
)
def test_folders_that_make_no_data_set(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    (tmp_path / "data").mkdir()
    make(tmp_path / "data")
    with pytest.raises(DataError, match=rf"^{tmp_path}/data.*{message}"):
        load(tmp_path / "data")


def test_gray_images_have_one_channel_until_one_has_color(tmp_path: Path) -> None:
    write_images(tmp_path, mode="L")
    write_image(tmp_path / "cat" / "bits.png", mode="1")
    write_image(tmp_path / "cat" / "alpha.png", mode="LA")
    write_image(tmp_path / "cat" / "photo.jpg", mode="L")
    Image.fromarray(np.full((6, 8), 60_000, np.uint16)).save(tmp_path / "cat" / "deep.png")
    Image.open(tmp_path / "cat" / "0.png").convert("P").save(tmp_path / "cat" / "palette.png")
    assert load(tmp_path).shape == (1, 6, 8)
    write_image(tmp_path / "dog" / "color.png")
    assert load(tmp_path).shape == (3, 6, 8)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([(40, 30)], (30, 40)),  # one size stays
        ([(40, 30), (30, 40)], (24, 24)),  # 30, down to a multiple of 8
        ([(50, 33), (41, 90), (7, 7)], (32, 32)),  # of 7, 33 and 41 the middle, down to a multiple of 8
        ([(5, 6), (6, 7)], (5, 5)),  # too small for a multiple
        ([(300, 400), (500, 600)], (224, 224)),
    ],
)
def test_the_size_is_that_of_the_images_or_from_the_middle_one(
    tmp_path: Path, sizes: list[tuple[int, int]], expected: tuple[int, int]
) -> None:
    for number, size in enumerate(sizes):
        write_image(tmp_path / "a" / f"{number}.png", size)
        write_image(tmp_path / "b" / f"{number}.png", size)
    assert load(tmp_path).shape == (3, *expected)
    assert load(tmp_path, LoadOptions(size=16)).shape == (3, 16, 16)


def test_images_that_do_not_fit_in_memory_stay_in_their_files(tmp_path: Path) -> None:
    write_images(tmp_path)
    needed = 6 * 3 * 6 * 8
    inside, outside = (
        load(tmp_path, LoadOptions(memory=needed)),
        load(tmp_path, LoadOptions(memory=needed - 1)),
    )
    assert isinstance(inside.train, ImageSet)
    assert isinstance(outside.train, ImageFiles)
    assert torch.equal(outside.train.load().images, inside.train.images)
    assert outside.moments == inside.moments
    assert (outside.classes, outside.shape) == (inside.classes, inside.shape)


def test_broken_files_are_left_out_with_their_count(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_images(tmp_path)
    whole = (tmp_path / "cat" / "0.png").read_bytes()
    (tmp_path / "cat" / "cut.png").write_bytes(whole[:-40])
    (tmp_path / "cat" / "empty.png").touch()
    (tmp_path / "cat" / "link.png").symlink_to("nowhere.png")
    (tmp_path / "cat" / "text.png").write_text("no image")
    os.mkfifo(tmp_path / "dog" / "pipe.png")
    broken: dict[str, str] = {}
    data = load(tmp_path, LoadOptions(broken=broken.__setitem__))
    assert counts(data) == {"train": [3, 3]}
    assert {Path(file).name for file in broken} == {
        "cut.png",
        "empty.png",
        "link.png",
        "text.png",
        "pipe.png",
    }
    assert broken[f"{tmp_path}/cat/text.png"] == "no image of a known kind"
    assert broken[f"{tmp_path}/dog/pipe.png"] == "there is no such file"
    assert len(caplog.records) == 1
    assert f"{tmp_path}: broken files that are left out, 5: cat/cut.png (" in caplog.text
    assert caplog.text.rstrip().endswith(" and 2 more")


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    write_images(tmp_path / "data")
    write_images(tmp_path / "elsewhere", ["fox"])
    (tmp_path / "data" / "fox").symlink_to(tmp_path / "elsewhere" / "fox")
    (tmp_path / "data" / "cat" / "self").symlink_to(".")
    (tmp_path / "data" / "cat" / "up").symlink_to("..")
    (tmp_path / "data" / "cat" / "all").symlink_to("/")
    (tmp_path / "data" / "cat" / "round").symlink_to("round")
    (tmp_path / "data" / "round").symlink_to("round")
    write_image(tmp_path / "data" / "dog" / "deep" / "1.png")
    (tmp_path / "data" / "dog" / "deep" / "back").symlink_to("../../dog")
    assert counts(load(tmp_path / "data")) == {"train": [3, 4, 3]}


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_images(tmp_path)
    scan = os.scandir

    def closed(path: Path) -> object:
        if Path(path).name == "dog":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", closed)  # root may list everything
    with pytest.raises(DataError, match=rf"^{tmp_path}/dog: cannot be listed \(Permission denied\)"):
        load(tmp_path)


def test_a_file_that_vanishes_before_it_is_read_is_named(tmp_path: Path) -> None:
    write_images(tmp_path)
    data = load(tmp_path, IN_FILES)
    (tmp_path / "dog" / "1.png").unlink()
    with pytest.raises(DataError, match=rf"^{tmp_path}/dog/1.png: there is no such file"):
        data.train.load()


def test_names_that_are_no_text_are_files_all_the_same(tmp_path: Path) -> None:
    write_images(tmp_path)
    odd = os.fsdecode(b"\xff\xfe.png")
    shutil.copy(tmp_path / "cat" / "0.png", tmp_path / "cat" / odd)
    (tmp_path / "cat" / os.fsdecode(b"\xfd.png")).touch()
    for _ in range(2):
        assert counts(load(tmp_path)) == {"train": [4, 3]}


def cache_files(home: Path) -> list[Path]:
    return sorted((home / ".cache" / "dartboard" / "folders").glob("*"))


@pytest.fixture
def surveys(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders whose files were decoded to see what they are."""
    seen: list[Path] = []
    real = folder_module.survey

    def survey(listing: folder_module.Listing, loading: LoadOptions) -> folder_module.Survey:
        seen.append(listing.folder)
        return real(listing, loading)

    monkeypatch.setattr(folder_module, "survey", survey)
    return seen


def test_what_was_found_is_remembered_until_a_file_changes(
    tmp_path: Path, home: Path, surveys: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    write_images(tmp_path)
    (tmp_path / "cat" / "text.png").write_text("no image")
    first = load(tmp_path, IN_FILES)
    opened = Image.open
    try:
        Image.open = None  # type: ignore[assignment]  # nothing is decoded the second time
        caplog.clear()
        second = load(tmp_path, IN_FILES)
    finally:
        Image.open = opened
    assert len(surveys) == 1
    assert (second.classes, second.shape, second.moments) == (first.classes, first.shape, first.moments)
    assert second.train.fingerprint() == first.train.fingerprint()
    assert "cat/text.png (no image of a known kind)" in caplog.text
    assert len(cache_files(home)) == 1
    assert json.loads(cache_files(home)[0].read_text())["folder"] == str(tmp_path)
    write_image(tmp_path / "cat" / "new.png")
    assert len(load(tmp_path, IN_FILES).train) == 7
    os.utime(tmp_path / "cat" / "new.png", (1, 1))
    load(tmp_path, IN_FILES)
    assert len(surveys) == 3


def test_a_file_that_can_be_read_again_is_not_remembered_as_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path)
    opened = Image.open

    def closed(file: str, **options: Any) -> Image.Image:
        if str(file).endswith("dog/1.png"):
            raise PermissionError(13, "Permission denied", file)
        return opened(file, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Image, "open", closed)  # root may read everything
        assert counts(load(tmp_path)) == {"train": [3, 2]}
        assert counts(load(tmp_path)) == {"train": [3, 2]}
    assert counts(load(tmp_path)) == {"train": [3, 3]}


def test_moments_do_not_depend_on_the_memory(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("image_files", "datasets.folder"):
        monkeypatch.setattr(f"dartboard.data.{module}.MOMENT_IMAGES", 4)
    write_images(tmp_path, {"cat": 5, "dog": 6})
    inside = load(tmp_path).moments
    shutil.rmtree(home / ".cache")
    assert load(tmp_path, IN_FILES).moments == inside


def test_moments_of_another_size_are_found_anew(tmp_path: Path, surveys: list[Path]) -> None:
    write_images(tmp_path)
    large, small = load(tmp_path, IN_FILES), load(tmp_path, LoadOptions(memory=0, size=2))
    assert large.moments != small.moments
    assert load(tmp_path, LoadOptions(size=2)).moments == small.moments
    assert load(tmp_path).moments == large.moments
    assert len(surveys) == 1


def test_another_place_for_the_cache(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    load(write_images(tmp_path / "data"))
    assert len(list((tmp_path / "cache" / "dartboard" / "folders").iterdir())) == 1
    assert not cache_files(home)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda _: "no json",
        lambda _: "[]",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"version": 2', '"version": 99'),
        lambda text: text.replace('"sizes": [[', '"sizes": [["x", '),
        lambda text: text.replace('"moments": [[', '"moments": [[1, '),
        lambda text: text.replace('"broken": {}', '"broken": []'),
        lambda text: text.replace('"classes"', '"klasses"'),
    ],
)
def test_a_damaged_cache_is_ignored(
    tmp_path: Path, home: Path, surveys: list[Path], damage: Callable[[str], str]
) -> None:
    write_images(tmp_path)
    first = load(tmp_path)
    [file] = cache_files(home)
    damaged = damage(file.read_text())
    assert damaged != file.read_text()
    file.write_text(damaged)
    assert load(tmp_path).moments == first.moments
    assert len(surveys) == 2


def test_a_cache_that_cannot_be_written_is_ignored(tmp_path: Path, home: Path, surveys: list[Path]) -> None:
    (home / ".cache").write_text("in the way")
    write_images(tmp_path)
    assert counts(load(tmp_path)) == counts(load(tmp_path)) == {"train": [3, 3]}
    assert len(surveys) == 2


def test_progress_is_told(tmp_path: Path) -> None:
    write_images(tmp_path / "train")
    write_images(tmp_path / "test")
    told: list[tuple[str, int, int]] = []
    load(tmp_path, LoadOptions(progress=lambda *args: told.append(args)))
    assert told[:12] == [("checking images", number, 12) for number in range(1, 13)]
    assert told[12:] == [("reading images", number, 12) for number in range(1, 13)]


def test_progress_is_told_of_images_that_stay_in_their_files(tmp_path: Path) -> None:
    write_images(tmp_path)
    told: list[tuple[str, int, int]] = []
    load(tmp_path, LoadOptions(memory=0, progress=lambda *args: told.append(args)))
    assert told[6:] == [("measuring images", number, 6) for number in range(1, 7)]


def test_real_images_written_as_files_are_the_same_images(tmp_path: Path) -> None:
    path = Path(os.environ.get("DARTBOARD_DATA", "/nowhere")) / "cifar10-10k.npz"
    if not path.is_file():
        pytest.skip("DARTBOARD_DATA does not name a folder with cifar10-10k.npz")
    whole = load(path)
    assert isinstance(whole.train, ImageSet)
    order = whole.train.labels[:300].argsort(stable=True)
    chosen = whole.train.take(order)
    for number, (image, label) in enumerate(zip(chosen.images, chosen.labels.tolist(), strict=True)):
        file = tmp_path / whole.classes[label] / f"{number:03}.png"
        file.parent.mkdir(exist_ok=True)
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(file)
    for loading in (LoadOptions(), IN_FILES):
        data = load(tmp_path, loading)
        assert data.classes == whole.classes
        assert torch.equal(data.train.load().images, chosen.images)
        assert torch.equal(data.train.labels, chosen.labels)
        assert data.moments == Dataset("same", whole.classes, chosen).moments


@pytest.mark.parametrize(("name", "value"), [("size", 0), ("size", 2.5), ("memory", -1), ("memory", True)])
def test_loading_that_makes_no_sense(name: str, value: object) -> None:
    with pytest.raises(DataError, match=f"{name} must be a whole number >= "):
        LoadOptions(**{name: value})  # type: ignore[arg-type]
