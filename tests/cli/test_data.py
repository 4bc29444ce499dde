import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dartboard.cli.main import main
from dartboard.data import published_datasets
from helpers.http_server import Server, serve
from helpers.image_folders import change_published, idx_files, write_image, write_images


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own."""
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "DARTBOARD_DATASETS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that has a small MNIST, and the downloads that point to it."""
    with serve() as running:
        idx_files(tmp_path / "made")
        running.files = {file.name: file.read_bytes() for file in (tmp_path / "made").iterdir()}
        local = [
            replace(
                own,
                urls=(running.url + own.file,),
                size=len(running.files[own.file]),
                md5=hashlib.md5(running.files[own.file], usedforsecurity=False).hexdigest(),
            )
            for own in published_datasets()["mnist"].downloads
        ]
        change_published(monkeypatch, "mnist", downloads=tuple(local))
        yield running


def test_get_brings_a_set_to_where_it_is_looked_for(
    server: Server, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = home / ".local" / "share" / "dartboard" / "mnist"
    assert main(["data", "get", "mnist"]) == 0
    assert capsys.readouterr().out == f"mnist is in {place}\n"
    assert len(server.requests) == 4
    assert main(["data", "get", "mnist"]) == 0
    assert capsys.readouterr().out == f"mnist is there already: {place}\n"
    assert len(server.requests) == 4
    assert main(["data", "where"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == str(place.parent)
    assert f"mnist: {place}" in shown
    assert main(["data", "show", "mnist"]) == 0
    assert "images     5 train, 5 test" in capsys.readouterr().out


def test_get_to_another_root(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "get", "mnist", "--root", str(tmp_path / "own")]) == 0
    assert capsys.readouterr().out == f"mnist is in {tmp_path}/own/mnist\n"
    assert main(["data", "show", "mnist", "--root", str(tmp_path / "own")]) == 0
    assert main(["data", "show", "mnist"]) == 2
    assert len(server.requests) == 4


def test_a_wrong_checksum(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = "train-images-idx3-ubyte.gz"
    server.files[first] = bytes(len(server.files[first]))
    assert main(["data", "get", "mnist", "--root", str(tmp_path / "own")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dartboard: error: {tmp_path}/own/mnist/{first}.part: has the md5 ")
    assert "what arrived is removed" in err
    assert err.count("\n") == 1
    assert [path.name for path in (tmp_path / "own" / "mnist").iterdir()] == [".lock"]


def test_without_a_network_files_and_places_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dead = tuple(
        replace(own, urls=(f"http://127.0.0.1:1/{own.file}",))
        for own in published_datasets()["svhn"].downloads
    )
    with pytest.MonkeyPatch.context() as patch:
        change_published(patch, "svhn", downloads=dead)
        assert main(["data", "get", "svhn", "--root", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "dartboard: error: http://127.0.0.1:1/train_32x32.mat: cannot be reached (Connection refused); where "
        f"there is no network, put http://127.0.0.1:1/train_32x32.mat as {tmp_path}/svhn/train_32x32.mat, "
        f"http://127.0.0.1:1/test_32x32.mat as {tmp_path}/svhn/test_32x32.mat and run "
        "this again\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["get", "mnits"], "no data set called 'mnits'; did you mean 'mnist'?"),
        (["get", "imagenet"], "imagenet is given only to those who register at https://image-net.org/"),
        (["show", "mnist"], "data set 'mnist' is not in "),
        (["show", "nothing/here"], "there is no file or folder 'nothing/here' to read a data set from"),
        ([], "the following arguments are required: ACTION; see dartboard data --help"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"dartboard: error: {message}")
    assert err.count("\n") == 1


def test_what_ships_with_the_package_needs_no_download(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "get", "digits"]) == 0
    assert capsys.readouterr().out == "digits needs no download\n"


def make_pets(folder: Path) -> Path:
    write_images(folder / "train", {"cat": 4, "dog": 3})
    write_images(folder / "test", {"cat": 1, "dog": 2})
    (folder / "train" / "dog" / "text.png").write_text("no image")
    return folder


def test_show_says_what_is_in_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", str(make_pets(tmp_path / "pets"))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["pets", "images     7 train, 3 test", "size       8 x 6 pixels, color"]
    assert lines[3].startswith("mean       1")
    assert lines[6:] == [
        "class      train     test",
        "cat            4        1",
        "dog            3        2",
        "",
        "broken files, left out: 1",
        f"{tmp_path}/pets/train/dog/text.png: no image of a known kind",
    ]


def test_names_that_a_terminal_would_obey_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    write_images(tmp_path / "pe\x1b[1mts" / "train", {"c\x1b[31mat": 1, "d\no\x07g": 1})
    write_image(tmp_path / "pe\x1b[1mts" / "test" / "loose.png")
    (tmp_path / "pe\x1b[1mts" / "train" / "d\no\x07g" / "te\rxt.png").write_text("no image")
    assert main(["data", "show", str(tmp_path / "pe\x1b[1mts")]) == 0
    out, err = capsys.readouterr()
    for text in (out, err, *caplog.messages):
        assert not any(own in text for own in "\x1b\x07\r")
    lines = out.splitlines()
    assert lines[0] == "pe\\x1b[1mts"
    assert [line.split()[0] for line in lines[7:9]] == ["c\\x1b[31mat", "d\\no\\x07g"]
    assert lines[-1].endswith("/d\\no\\x07g/te\\rxt.png: no image of a known kind")
    assert "d\\no\\x07g/te\\rxt.png (no image of a known kind)" in caplog.text


def test_show_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", str(make_pets(tmp_path / "pets")), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    mean, deviation = facts.pop("mean"), facts.pop("deviation")
    assert len(mean) == len(deviation) == 3
    assert all(100 < value < 160 for value in mean)
    assert facts == {
        "name": "pets",
        "classes": {"cat": {"train": 4, "test": 1}, "dog": {"train": 3, "test": 2}},
        "images": {"train": 7, "test": 3},
        "channels": 3,
        "height": 6,
        "width": 8,
        "broken": {f"{tmp_path}/pets/train/dog/text.png": "no image of a known kind"},
    }


def test_bad_inputs_to_the_program_are_one_line_and_exit_2(tmp_path: Path, program: Path) -> None:
    idx_files(tmp_path / "mnist")
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz").write_bytes(b"short")
    done = subprocess.run(
        [program, "data", "show", tmp_path / "mnist"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dartboard: error: {tmp_path}/mnist/t10k-labels-idx1-ubyte.gz: ")
    assert done.stderr.count("\n") == 1
