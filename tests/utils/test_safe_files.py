"""What is read of a folder that somebody else has filled."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from dartboard.errors import UnsafeFileError
from dartboard.utils.safe_files import check_folder, open_handle, read_file


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def make_device_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_pipe, "is a named pipe, not a file"),
        (make_folder, "is a folder, not a file"),
        (make_socket, "is a socket, not a file"),
        (make_device_link, "is a device, not a file"),
    ],
)
def test_only_regular_files_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], said: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    path = Path("thing")
    make(path)
    with pytest.raises(UnsafeFileError, match=said):
        read_file(path)


def test_a_file_at_the_limit_is_read_and_one_above_it_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_file(tmp_path / "file", limit=5) == b"12345"
    with pytest.raises(UnsafeFileError, match="has 5 bytes, more than the 4 that are read"):
        read_file(tmp_path / "file", limit=4)


def test_links_are_followed_inside_the_root_alone(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    (tmp_path / "outside").write_text("secret")
    (tmp_path / "run-2").mkdir()
    (tmp_path / "run-2" / "file").write_text("a name that begins like the root's")
    (root / "file").write_text("mine")
    (root / "inner").symlink_to("file")
    (root / "outer").symlink_to("../outside")
    (root / "folder").symlink_to("../run-2")
    assert read_file(root / "inner", root=root) == b"mine"
    for name in ("outer", "folder/file"):
        with pytest.raises(UnsafeFileError, match="is a link out of"):
            read_file(root / name, root=root)
    assert read_file(root / "outer") == b"secret"  # the user has named this one
    (tmp_path / "alias").symlink_to("run")
    assert read_file(tmp_path / "alias" / "file", root=tmp_path / "alias") == b"mine"


def test_what_is_missing_is_told_apart_from_a_link_to_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none", root=tmp_path)
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    with pytest.raises(UnsafeFileError, match="which does not exist"):
        read_file(tmp_path / "dangling", root=tmp_path)


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    (tmp_path / "outside").write_text("precious")
    (root / "lock").symlink_to("../outside")
    with pytest.raises(UnsafeFileError):
        open_handle(root / "lock", os.O_RDWR | os.O_CREAT | os.O_TRUNC, root=root)
    assert (tmp_path / "outside").read_text() == "precious"


def test_a_folder_elsewhere_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    check_folder(root / "none", root)
    (root / "file").touch()
    (root / "epochs").symlink_to(tmp_path)
    for name in ("file", "epochs"):
        with pytest.raises(UnsafeFileError):
            check_folder(root / name, root)
