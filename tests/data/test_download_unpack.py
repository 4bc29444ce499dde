import io
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dartboard.data.download import unpack
from dartboard.errors import DataError

FILES = {"top/a.txt": b"a", "top/deep/b.txt": b"b", "other/c.txt": b"c"}
Make = Callable[[Path, dict[str, bytes]], Path]


def tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path / "made.tar.gz", "w:gz") as archive:
        folder = tarfile.TarInfo("top")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path / "made.tar.gz"


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path / "made.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("top/", b"")
        for name, content in files.items():
            archive.writestr(name, content)
    return path / "made.zip"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("make", [tar, zipped])
def test_an_archive_becomes_a_folder(tmp_path: Path, make: Make) -> None:
    told: list[tuple[str, int, int]] = []
    archive = make(tmp_path, FILES)
    unpack(archive, tmp_path / "all", None, lambda *args: told.append(args))
    unpack(archive, tmp_path / "top", "top", lambda *_: None)
    assert tree(tmp_path / "all") == FILES
    assert tree(tmp_path / "top") == {"a.txt": b"a", "deep/b.txt": b"b"}
    assert told
    assert all(what == f"unpacking {archive.name}" and 0 <= done <= total for what, done, total in told)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([archive.name, "all", "top"])


@pytest.mark.parametrize("make", [tar, zipped])
def test_the_folder_that_is_there_is_replaced(tmp_path: Path, make: Make) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "old").touch()
    (tmp_path / ".all.unpacking").mkdir()
    (tmp_path / ".all.unpacking" / "half").touch()
    unpack(make(tmp_path, FILES), tmp_path / "all", None, lambda *_: None)
    assert tree(tmp_path / "all") == FILES


@pytest.mark.parametrize("make", [tar, zipped])
@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "top/../../out.txt"])  # noqa: S108
def test_nothing_is_written_outside(tmp_path: Path, make: Make, name: str) -> None:
    archive = make(tmp_path, {"top/a.txt": b"a", name: b"evil"})
    with pytest.raises(DataError, match=r"refused: it would write .*out.txt' outside of its folder"):
        unpack(archive, tmp_path / "deep" / "all", None, lambda *_: None)
    assert not list(tmp_path.rglob("out.txt"))
    assert not list((tmp_path / "deep").iterdir())


def test_links_are_left_out(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "made.tar.gz", "w:gz") as archive:
        for kind, name in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard"), (tarfile.FIFOTYPE, "pipe")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        plain = tarfile.TarInfo("plain")
        archive.addfile(plain)
    unpack(tmp_path / "made.tar.gz", tmp_path / "all", None, lambda *_: None)
    assert [path.name for path in (tmp_path / "all").iterdir()] == ["plain"]


@pytest.mark.parametrize("make", [tar, zipped])
def test_an_archive_without_the_folder_is_another_one(tmp_path: Path, make: Make) -> None:
    with pytest.raises(DataError, match="has no files in a folder 'images'"):
        unpack(make(tmp_path, FILES), tmp_path / "all", "images", lambda *_: None)
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("make", [tar, zipped])
@pytest.mark.parametrize("cut", [0, 20, -30])
def test_a_cut_archive_leaves_nothing(tmp_path: Path, make: Make, cut: int) -> None:
    archive = make(tmp_path, {name: content * 5000 for name, content in FILES.items()})
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(DataError, match=rf"{archive.name}: is damaged or cut short"):
        unpack(archive, tmp_path / "all", None, lambda *_: None)
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]


@pytest.mark.parametrize("name", ["made.tar.gz", "made.zip"])
def test_damaged_archives_of_another_packing_are_named(tmp_path: Path, name: str) -> None:
    archive = tmp_path / name
    if name.endswith("zip"):
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as made:
            made.writestr("a.txt", bytes(range(256)) * 9)
    else:
        with tarfile.open(archive, "w:xz") as made:
            made.addfile(tarfile.TarInfo("a.txt"))
    whole = archive.read_bytes()
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 0x55
        archive.write_bytes(data)
        with suppress(DataError):
            unpack(archive, tmp_path / "all", None, lambda *_: None)
