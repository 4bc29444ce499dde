import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from dartboard.data import Download, published_datasets
from dartboard.data.download import RETRIES, fetch
from dartboard.errors import DataError
from helpers.http_server import Server, serve
from helpers.image_folders import pixels

CONTENT = pixels(300_000).tobytes()
MD5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        running.files["file.bin"] = CONTENT
        yield running


def get(server: Server, folder: Path, *, size: int | None = None, md5: str | None = MD5) -> Path:
    return fetch(Download("file.bin", (f"{server.url}file.bin",), size, md5), folder, lambda *_: None)


def ranges(server: Server) -> list[str | None]:
    return [wanted for _, wanted in server.requests]


def test_a_file_arrives_whole(server: Server, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    download = Download("deep/file.bin", (f"{server.url}file.bin",), len(CONTENT), MD5)
    path = fetch(download, tmp_path, lambda *args: told.append(args))
    assert path == tmp_path / "deep" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["file.bin"]
    assert told[-1] == ("deep/file.bin", len(CONTENT), len(CONTENT))
    assert len(told) > 1


def test_a_file_that_is_there_is_checked_and_not_fetched(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(CONTENT)
    assert get(server, tmp_path) == tmp_path / "file.bin"
    (tmp_path / "file.bin").write_bytes(b"other")
    with pytest.raises(DataError, match=rf"file.bin: has the md5 \w+, but the file .* has {MD5}"):
        get(server, tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == b"other"
    assert server.requests == []


def test_what_was_there_is_gone_on_from(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:123_456])
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == ["bytes=123456-"]


def test_a_cut_connection_is_taken_up_again(server: Server, tmp_path: Path) -> None:
    server.cuts = [100_000, 50_000]
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [None, "bytes=100000-", "bytes=150000-"]


def test_a_server_without_ranges_is_asked_for_the_whole(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.cuts = [100_000]
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [None, "bytes=100000-"]


def test_a_part_that_was_not_asked_for_is_not_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    server.shift = 10
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == ["bytes=1000-", None]


def test_a_whole_part_needs_nothing_more(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    assert get(server, tmp_path).read_bytes() == CONTENT
    assert ranges(server) == [f"bytes={len(CONTENT)}-"]


def test_a_part_that_is_too_long_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT + b"more")
    assert get(server, tmp_path).read_bytes() == CONTENT


def test_a_server_that_always_cuts_is_given_up_and_the_part_kept(server: Server, tmp_path: Path) -> None:
    server.cuts = [1000] + [0] * RETRIES
    with pytest.raises(DataError, match=r"the connection was cut after 1,000 bytes; run this again to go on"):
        get(server, tmp_path)
    assert (tmp_path / "file.bin.part").read_bytes() == CONTENT[:1000]
    assert not (tmp_path / "file.bin").exists()
    assert get(server, tmp_path).read_bytes() == CONTENT


def test_a_server_that_cuts_and_starts_anew_is_given_up(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.cuts = [1000] * 9
    with pytest.raises(DataError, match="the connection was cut after 1,000 bytes"):
        get(server, tmp_path)
    assert len(server.requests) == 1 + RETRIES


def test_another_file_is_removed(server: Server, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=rf"has the md5 {MD5}, but the file that is published has 00; what arr"
    ):
        get(server, tmp_path, md5="00")
    with pytest.raises(
        DataError, match="has 300,000 bytes, but the file that is published has 5; what arrived"
    ):
        get(server, tmp_path, size=5, md5=None)
    assert list(tmp_path.iterdir()) == []


def test_without_a_length_the_size_and_checksum_tell(server: Server, tmp_path: Path) -> None:
    server.sized = False
    server.cuts = [1000]
    with pytest.raises(DataError, match="has 1,000 bytes, but the file that is published has 300,000"):
        get(server, tmp_path, size=len(CONTENT))
    assert get(server, tmp_path).read_bytes() == CONTENT


def test_the_next_address_is_tried(server: Server, tmp_path: Path) -> None:
    urls = ("http://127.0.0.1:1/file.bin", f"{server.url}gone.bin", f"{server.url}file.bin")
    path = fetch(Download("file.bin", urls, None, MD5), tmp_path, lambda *_: None)
    assert path.read_bytes() == CONTENT


def test_the_next_address_goes_on_where_the_first_was_cut(server: Server, tmp_path: Path) -> None:
    server.files["first/file.bin"] = CONTENT
    server.cuts = [1000] + [0] * RETRIES
    urls = (f"{server.url}first/file.bin", f"{server.url}file.bin")
    path = fetch(Download("file.bin", urls, None, MD5), tmp_path, lambda *_: None)
    assert path.read_bytes() == CONTENT
    assert server.requests[-1] == ("file.bin", "bytes=1000-")


def test_every_address_that_failed_is_named(server: Server, tmp_path: Path) -> None:
    urls = ("http://127.0.0.1:1/file.bin", f"{server.url}gone.bin")
    with pytest.raises(DataError) as caught:
        fetch(Download("file.bin", urls), tmp_path, lambda *_: None)
    assert str(caught.value) == (
        "http://127.0.0.1:1/file.bin: cannot be reached (Connection refused); "
        f"{server.url}gone.bin: the server says 404 Not Found"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").mkdir()
    with pytest.raises(DataError, match=r"file\.bin\.part: cannot be written \(Is a directory\)"):
        get(server, tmp_path)


@pytest.mark.parametrize("name", published_datasets())
def test_every_download_is_complete(name: str) -> None:
    for download in published_datasets()[name].downloads:
        assert download.urls
        assert all(url.startswith(("http://", "https://")) for url in download.urls)
        assert all(url.endswith(Path(download.file).name) for url in download.urls)
        assert download.md5 is None or len(bytes.fromhex(download.md5)) == 16
        assert (download.folder is not None) == download.file.endswith((".tar.gz", ".zip"))
