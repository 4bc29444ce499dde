import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

from dartboard.utils.atomic import (
    atomic_directory,
    discard,
    is_leftover,
    remove_leftovers,
    write_bytes,
    write_first,
    write_text,
)


@contextmanager
def small_files():
    """Files cannot grow beyond ten bytes, as on a disk that is all but full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_files_are_written_and_replaced(tmp_path):
    write_text(tmp_path / "a", "é\n")
    write_bytes(tmp_path / "b", b"\x00\xff")
    write_text(tmp_path / "b", "new")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"
    assert (tmp_path / "b").read_bytes() == b"new"
    assert names(tmp_path) == ["a", "b"]


def test_a_write_that_fails_midway_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    write_text(path, "old")
    with small_files(), pytest.raises(OSError, match="a'") as caught:
        write_text(path, "new" * 100)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_text(tmp_path / "nowhere" / "a", "x")


def test_everything_is_on_disk_before_it_has_its_name(tmp_path, monkeypatch):
    seen = []
    sync = os.fsync

    def fsync(handle):
        seen.append((os.readlink(f"/proc/self/fd/{handle}"), names(tmp_path)))  # noqa: PTH115
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with atomic_directory(tmp_path / "d") as temporary:
        (temporary / "inner").mkdir()
        (temporary / "inner" / "file").touch()
    wanted = [temporary / "inner", temporary / "inner" / "file", temporary]
    assert [path for path, _ in seen[:-1]] == list(map(str, wanted))
    assert all(there == [temporary.name] for _, there in seen[:-1])
    assert seen[-1] == (str(tmp_path), ["d"])

    seen.clear()
    write_text(tmp_path / "f", "x")
    (file, before), (folder, after) = seen
    assert is_leftover(tmp_path / file)
    assert "f" not in before
    assert (folder, after) == (str(tmp_path), ["d", "f"])


def test_others_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "f", "x")
        with atomic_directory(tmp_path / "d"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o750


def test_a_directory_replaces_another(tmp_path):
    for text in ("old", "new"):
        with atomic_directory(tmp_path / "d") as temporary:
            (temporary / text).write_text(text)
            assert temporary.parent == tmp_path
    assert names(tmp_path) == ["d"]
    assert names(tmp_path / "d") == ["new"]


def test_a_directory_that_was_being_replaced_makes_room(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d.old").mkdir()
    with atomic_directory(tmp_path / "d") as temporary:
        (temporary / "new").touch()
    assert names(tmp_path) == ["d"]
    assert names(tmp_path / "d") == ["new"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_directory_whose_block_fails_is_removed(tmp_path, error):
    with atomic_directory(tmp_path / "d") as temporary:
        (temporary / "old").touch()

    def fail():
        with atomic_directory(tmp_path / "d") as temporary:
            (temporary / "new").touch()
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["d"]
    assert names(tmp_path / "d") == ["old"]


def test_a_full_disk_is_named_in_a_directory_too(tmp_path):
    with small_files(), pytest.raises(OSError, match="d'"), atomic_directory(tmp_path / "d") as temporary:
        (temporary / "file").write_bytes(b"x" * 100)
    assert names(tmp_path) == []


def test_leftovers_are_removed_and_nothing_else(tmp_path):
    kept = [".a.tmp", "a.0123456789abcdef.tmp", ".hidden", "d.old"]
    for name in (*kept, ".a.0123456789abcdef.tmp"):
        (tmp_path / name).touch()
    (tmp_path / ".d.0123456789abcdef.tmp" / "inner").mkdir(parents=True)
    remove_leftovers(tmp_path)
    assert names(tmp_path) == sorted(kept)


def test_a_directory_goes_with_everything_in_it(tmp_path):
    (tmp_path / "d" / "inner").mkdir(parents=True)
    discard(tmp_path / "d")
    assert names(tmp_path) == []


def test_the_first_of_several_writers_counts(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_first(path, "first\n")
    write_first(path, "second\n")
    assert path.read_text() == "first\n"
    monkeypatch.setattr(os, "link", refuse)
    write_first(path.with_name("b.txt"), "third\n")
    assert path.with_name("b.txt").read_text() == "third\n"
    assert sorted(own.name for own in path.parent.iterdir()) == ["a.txt", "b.txt"]


def refuse(*_):
    raise PermissionError("no links here")


def test_a_read_only_disk_is_an_error_about_the_file_itself(tmp_path, monkeypatch):
    def refuse(path, *_, **__):  # a disk that is read-only refuses to remove even what is not there
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    for write in (write_text, write_first):
        with pytest.raises(OSError, match="Read-only") as caught:
            write(tmp_path / "a.txt", "text")
        assert caught.value.filename == str(tmp_path / "a.txt")
