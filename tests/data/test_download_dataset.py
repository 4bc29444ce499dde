import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dartboard.data import LoadOptions, load_dataset, published_datasets
from dartboard.data.download import download_dataset
from dartboard.errors import DataError
from helpers.http_server import Server, serve
from helpers.image_folders import (
    change_published,
    cifar10_binary,
    freiburg,
    idx_files,
    tiny_imagenet,
    write_images,
)


def quiet(*_: object) -> None:
    pass


def packed(source: Path, kind: str, inside: str) -> bytes:
    """An archive of a folder, in which it is called `inside`."""
    path = shutil.make_archive(str(source.parent / "made"), kind, source.parent, inside)
    return Path(path).read_bytes()


def published(tmp_path: Path) -> dict[str, bytes]:
    """Small files by the names of the large ones that are published."""
    made = tmp_path / "made"
    cifar10_binary(made / "cifar-10-batches-bin")
    tiny_imagenet(made / "tiny-imagenet-200")
    freiburg(made / "freiburg")
    for part in ("train", "valid", "test"):
        write_images(made / "cinic" / part, ["airplane", "cat"])
    idx_files(made / "mnist")
    files = {file.name: file.read_bytes() for file in (made / "mnist").iterdir()}
    files |= {file.name: file.read_bytes() for file in (made / "freiburg" / "splits").iterdir()}
    return files | {
        "cifar-10-binary.tar.gz": packed(made / "cifar-10-batches-bin", "gztar", "cifar-10-batches-bin"),
        "tiny-imagenet-200.zip": packed(made / "tiny-imagenet-200", "zip", "tiny-imagenet-200"),
        "freiburg_groceries_dataset.tar.gz": packed(made / "freiburg" / "images", "gztar", "images"),
        "CINIC-10.tar.gz": packed(made / "cinic" / "train", "gztar", "."),
    }


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that has small data sets, and downloads that point to it."""
    with serve() as running:
        running.files = published(tmp_path)
        for name, dataset in published_datasets().items():
            local = [replace(own, urls=(running.url + Path(own.file).name,)) for own in dataset.downloads]
            sums = [running.files.get(Path(own.file).name, b"") for own in local]
            local = [
                replace(
                    own,
                    size=own.size and len(content),
                    md5=own.md5 and hashlib.md5(content, usedforsecurity=False).hexdigest(),
                )
                for own, content in zip(local, sums, strict=True)
            ]
            change_published(monkeypatch, name, downloads=tuple(local))
        yield running


@pytest.mark.parametrize("name", ["cifar10", "mnist", "tiny-imagenet", "freiburg", "cinic10"])
def test_a_set_is_fetched_unpacked_and_read(server: Server, tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    assert published_datasets()[name].locate_complete(root) is None
    found = download_dataset(name, root, quiet)
    assert found.is_relative_to(root / name)
    assert published_datasets()[name].locate_complete(root) == found
    data = load_dataset(name, LoadOptions(root=root))
    assert data.name == name
    assert len(data.train) > 0
    left = [path.name for path in (root / name).rglob("*") if path.suffix in (".part", ".zip", ".unpacking")]
    assert not left
    assert not list((root / name).glob("*.tar.gz"))
    asked = len(server.requests)
    assert download_dataset(name, root, quiet) == found
    assert len(server.requests) == asked


def test_what_is_fetched_already_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    last = server.files.pop("t10k-labels-idx1-ubyte.gz")
    with pytest.raises(DataError) as caught:
        download_dataset("mnist", tmp_path, quiet)
    folder = tmp_path / "mnist"
    url = f"{server.url}t10k-labels-idx1-ubyte.gz"
    assert str(caught.value) == (
        f"{url}: the server says 404 Not Found; where there is no network, put {url} as "
        f"{folder}/t10k-labels-idx1-ubyte.gz and run this again"
    )
    assert published_datasets()["mnist"].locate_complete(tmp_path) is None
    server.files["t10k-labels-idx1-ubyte.gz"] = last
    server.requests.clear()
    assert download_dataset("mnist", tmp_path, quiet) == folder
    assert [name for name, _ in server.requests] == ["t10k-labels-idx1-ubyte.gz"]


def test_an_archive_that_was_put_there_is_checked_and_unpacked(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "tiny-imagenet"
    folder.mkdir()
    (folder / "tiny-imagenet-200.zip").write_bytes(b"another")
    with pytest.raises(
        DataError, match=r"tiny-imagenet-200\.zip: has 7 bytes, but the file that is published"
    ):
        download_dataset("tiny-imagenet", tmp_path, quiet)
    (folder / "tiny-imagenet-200.zip").write_bytes(server.files["tiny-imagenet-200.zip"])
    assert download_dataset("tiny-imagenet", tmp_path, quiet) == folder / "tiny-imagenet-200"
    assert server.requests == []
    assert (folder / "tiny-imagenet-200.zip").read_bytes() == server.files["tiny-imagenet-200.zip"]


def test_a_file_of_another_size_that_was_put_there_is_named(server: Server, tmp_path: Path) -> None:
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
        (tmp_path / "mnist").mkdir(exist_ok=True)
        (tmp_path / "mnist" / name).write_bytes(server.files[name])
    short = tmp_path / "mnist" / "train-labels-idx1-ubyte.gz"
    short.write_bytes(short.read_bytes()[:-1])
    with pytest.raises(DataError, match=rf"^{short}: has \d+ bytes, but the file that is published has "):
        download_dataset("mnist", tmp_path, quiet)
    short.unlink()
    assert download_dataset("mnist", tmp_path, quiet) == tmp_path / "mnist"
    assert len(server.requests) == 3


def test_files_of_another_kind_that_were_put_there_count(tmp_path: Path) -> None:
    idx_files(tmp_path / "mnist", packed=False)
    assert published_datasets()["mnist"].locate_complete(tmp_path) == tmp_path / "mnist"


def test_an_archive_of_something_else_is_said_to_be(server: Server, tmp_path: Path) -> None:
    server.files["freiburg_groceries_dataset.tar.gz"] = server.files["cifar-10-binary.tar.gz"]
    with pytest.raises(DataError, match=r"dataset\.tar\.gz: has no files in a folder 'images'"):
        download_dataset("freiburg", tmp_path, quiet)


@pytest.mark.parametrize("name", ["imagenet", "imagenet16-120"])
def test_sets_that_need_a_registration_say_so(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=rf"{name} is given only to those who register at https.* in {tmp_path}"
    ):
        download_dataset(name, tmp_path, quiet)
    assert not (tmp_path / name).exists()


def test_two_programs_do_not_fetch_one_set(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    with (tmp_path / "mnist" / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="mnist: another program is fetching it"):
            download_dataset("mnist", tmp_path, quiet)
    assert server.requests == []
    assert download_dataset("mnist", tmp_path, quiet) == tmp_path / "mnist"
