import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from dartboard.data import ImageFiles, image_files
from dartboard.data.dataset import moments
from dartboard.data.image_files import decode, read_image, read_images
from dartboard.errors import DataError
from helpers.image_folders import pixels, write_image


def put(path: Path, image: Image.Image, **options: object) -> str:
    image.save(path, **options)
    return str(path)


def test_sixteen_bits_keep_the_upper_eight(tmp_path: Path) -> None:
    values = (np.arange(16, dtype=np.uint16) * 4369).reshape(4, 4)
    file = put(tmp_path / "deep.png", Image.fromarray(values))
    assert read_image(file, (1, 4, 4))[0].flatten().tolist() == [17 * n for n in range(16)]
    assert torch.equal(read_image(file, (3, 4, 4))[2], read_image(file, (1, 4, 4))[0])


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    image.putpixel((1, 2), (200, 100, 50, 255))
    read = read_image(put(tmp_path / "clear.png", image), (3, 4, 4))
    assert read[:, 2, 1].tolist() == [200, 100, 50]
    assert read[:, 0, 0].tolist() == [255, 255, 255]
    gray = Image.new("LA", (2, 2), (0, 0))
    assert read_image(put(tmp_path / "gray.png", gray), (1, 2, 2)).unique().tolist() == [255]


def test_palettes_have_the_colors_they_name(tmp_path: Path) -> None:
    image = Image.new("P", (4, 4), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    assert read_image(put(tmp_path / "few.png", image), (3, 4, 4))[:, 0, 0].tolist() == [10, 20, 30]
    clear = put(tmp_path / "clear.png", image, transparency=bytes([255, 0]))
    assert read_image(clear, (3, 4, 4)).unique().tolist() == [255]


def test_printers_colors_are_made_screen_colors(tmp_path: Path) -> None:
    file = put(tmp_path / "print.jpg", Image.new("CMYK", (8, 8), (255, 0, 0, 0)))
    red, green, blue = read_image(file, (3, 8, 8)).float().mean((1, 2)).tolist()
    assert red < 30
    assert min(green, blue) > 200


def test_an_animation_is_its_first_picture(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in ((250, 0, 0), (0, 250, 0))]
    file = put(tmp_path / "moving.webp", frames[0], save_all=True, append_images=frames[1:], lossless=True)
    assert read_image(file, (3, 8, 8))[:, 0, 0].tolist() == [250, 0, 0]


@pytest.mark.parametrize("kind", ["jpg", "png", "webp"])
def test_images_are_turned_as_the_camera_says(tmp_path: Path, kind: str) -> None:
    image = Image.new("L", (16, 8))
    image.paste(255, (0, 0, 8, 8))  # left half white
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter to the right
    file = put(tmp_path / f"turned.{kind}", image.convert("RGB"), exif=exif)
    assert decode(file, "L").size == (8, 16)
    read = read_image(file, (1, 16, 8))[0].float()
    assert read[:7].mean() > 240
    assert read[9:].mean() < 15


@pytest.mark.filterwarnings("ignore:Corrupt EXIF:UserWarning")
def test_a_turn_that_makes_no_sense_is_none(tmp_path: Path) -> None:
    file = put(tmp_path / "odd.jpg", Image.new("RGB", (16, 8)), exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff")
    assert decode(file, "RGB").size == (16, 8)


def test_images_cover_the_shape_and_are_cut_around_the_center(tmp_path: Path) -> None:
    image = Image.new("L", (40, 20), 0)
    image.paste(255, (10, 0, 30, 20))
    read = read_image(put(tmp_path / "wide.png", image), (1, 10, 10))
    assert read[:, :, 1:-1].unique().tolist() == [255]
    assert read.min() > 200  # at the border Pillow's filter sees a little of what is cut off


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"


def test_files_of_other_kinds_are_no_images_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "9.jpg").write_bytes(POSTSCRIPT)
    with pytest.raises(DataError, match=r"9\.jpg: cannot be read as an image \(no image of a known kind\)"):
        decode(str(tmp_path / "9.jpg"), "RGB")
    other = put(tmp_path / "8.png", Image.new("L", (4, 4)), format="PPM")
    with pytest.raises(DataError, match="no image of a known kind"):
        decode(other, "L")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "GIF"])
def test_an_image_may_be_called_like_one_of_another_kind(tmp_path: Path, kind: str) -> None:
    image = Image.new("RGB", (8, 8), (250, 0, 0))
    red, green, blue = read_image(put(tmp_path / "1.jpg", image, format=kind), (3, 8, 8))[:, 0, 0].tolist()
    assert red > 240
    assert max(green, blue) < 10


def test_large_images_are_read_in_silence_and_far_too_large_ones_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(tmp_path / "large.png", Image.new("L", (15, 10)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)  # a warning, which is an error here, but for this
    assert decode(file, "L").size == (15, 10)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 70)
    with pytest.raises(
        DataError, match=r"large\.png: cannot be read as an image \(Image size \(150 pixels\)"
    ):
        decode(file, "L")


def test_palettes_of_grays_are_gray(tmp_path: Path) -> None:
    image = Image.new("P", (4, 4), 1)
    image.putpalette([0, 0, 0, 10, 10, 10])
    assert decode(put(tmp_path / "gray.png", image), None).mode == "L"
    image.putpalette([0, 0, 0, 10, 10, 11])
    assert decode(put(tmp_path / "blue.png", image), None).mode == "RGB"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "bmp"])
def test_damaged_files_give_images_or_one_line(tmp_path: Path, kind: str) -> None:
    whole = write_image(tmp_path / f"whole.{kind}", (12, 9)).read_bytes()
    rng = np.random.default_rng(1)
    file = tmp_path / f"damaged.{kind}"
    refused = 0
    for number in range(300):
        data = bytearray(whole)
        if number % 3 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for place in rng.integers(len(data), size=4):
                data[place] = rng.integers(256)
        file.write_bytes(data)
        try:
            assert read_image(str(file), (3, 6, 6)).shape == (3, 6, 6)
        except DataError as error:
            refused += 1
            assert str(error).startswith(f"{file}: cannot be read as an image (")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
    assert refused > 50


@pytest.mark.parametrize("small", [0, 10**9])
def test_one_thread_and_many_read_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(image_files, "SMALL_FILE", small)
    monkeypatch.setattr(image_files, "THREAD_QUEUE", 3)
    names = [str(write_image(tmp_path / f"{number}.png")) for number in range(10)]
    read = list(read_images(names, (3, 6, 8)))
    expected = [np.array(Image.open(name)).transpose(2, 0, 1) for name in names]
    assert np.array_equal(torch.stack(read).numpy(), np.stack(expected))
    Path(names[7]).unlink()
    with pytest.raises(DataError, match=r"7\.png: there is no such file"):
        list(read_images(names, (3, 6, 8)))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        decode(str(tmp_path), "RGB")


@pytest.mark.parametrize(
    ("files", "shape", "message"),
    [
        (("a",), (3, 4, 4), "there are 1 files but 2 labels"),
        (("a", "b"), (2, 4, 4), "1 or 3 channels, not 2"),
    ],
)
def test_sets_that_make_no_sense(files: tuple[str, ...], shape: tuple[int, int, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ImageFiles(files, torch.zeros(2, dtype=torch.int64), shape)


def test_loading_tells_how_far_it_is(tmp_path: Path) -> None:
    names = tuple(str(write_image(tmp_path / f"{number}.png")) for number in range(3))
    told: list[int] = []
    loaded = ImageFiles(names, torch.arange(3), (3, 6, 8)).load(told.append)
    assert told == [1, 2, 3]
    assert loaded.images.shape == (3, 3, 6, 8)


def test_moments_are_those_of_the_images_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(str(write_image(tmp_path / f"{number}.png")) for number in range(9))
    files = ImageFiles(names, torch.zeros(9, dtype=torch.int64), (3, 6, 8))
    told: list[tuple[int, int]] = []
    assert files.moments(lambda *args: told.append(args)) == moments(files.load())
    assert told == [(number, 9) for number in range(1, 10)]
    monkeypatch.setattr(image_files, "MOMENT_IMAGES", 3)
    assert files.moments() == moments(files.take(torch.tensor([0, 3, 6])).load())


def test_pixels_of_many_kinds_are_bytes(tmp_path: Path) -> None:
    for mode in ("1", "L", "P", "RGB", "RGBA", "LA"):
        file = put(tmp_path / f"{mode}.png", Image.fromarray(pixels(5, 7, 3)).convert(mode))
        for channels in (1, 3):
            read = read_image(file, (channels, 5, 7))
            assert (read.dtype, read.shape) == (torch.uint8, (channels, 5, 7))


def test_a_fingerprint_stays_when_the_folder_moves(tmp_path: Path) -> None:
    names = ("cat/1.png", "cat/2.png", "dog/1.png")
    labels = torch.tensor([0, 0, 1])

    def files(folder: Path, names: tuple[str, ...] = names, labels: torch.Tensor = labels) -> ImageFiles:
        return ImageFiles(tuple(str(folder / name) for name in names), labels, (3, 8, 8))

    for name in names:
        write_image(tmp_path / "a" / name)
    found = files(tmp_path / "a").fingerprint()
    shutil.copytree(tmp_path / "a", tmp_path / "b" / "c")
    assert files(tmp_path / "b" / "c").fingerprint() == found
    one = [files(tmp_path / folder, names[:1], labels[:1]).fingerprint() for folder in ("a", "b/c")]
    assert one[0] == one[1]
    assert files(tmp_path / "a", names[::-1]).fingerprint() != found
    assert files(tmp_path / "a", labels=torch.tensor([0, 1, 1])).fingerprint() != found
    assert ImageFiles(("x.png",), labels[:1], (3, 8, 8)).fingerprint() != found
    assert len(files(tmp_path, (), labels[:0]).fingerprint()) == 64


def test_a_fingerprint_changes_with_a_file(tmp_path: Path) -> None:
    names = tuple(str(write_image(tmp_path / f"{number}.png")) for number in range(3))
    files = ImageFiles(names, torch.arange(3), (3, 6, 8))
    found = files.fingerprint()
    write_image(tmp_path / "1.png", (9, 6))
    other = files.fingerprint()
    assert other != found
    (tmp_path / "1.png").unlink()
    assert files.fingerprint() not in (found, other)
