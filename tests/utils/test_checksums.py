"""Files with checksums: a change is noticed, a kill at any moment is not taken for one."""

import os
import resource
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.errors import ChecksumError
from dartboard.utils import atomic, checksums
from dartboard.utils.checksums import (
    CHECKSUMS,
    AppendedFile,
    check_file,
    read_file,
    read_journal,
    record_growing,
    remove_file,
    seal,
    settle,
    unseal,
    write_changed,
    write_file,
)

METRICS = "metrics.jsonl"
NAMES = ("a.json", "epochs/0000.json", "log.txt.json")


class Killed(BaseException):
    """Stands for the end of the process."""


def flip(path: Path, position: int, mask: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= mask
    path.write_bytes(data)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_file(tmp_path / "a.json", "old")
    write_file(tmp_path / "a.json", b"new")
    assert read_file(tmp_path / "a.json", root=tmp_path) == b"new"
    assert read_file(tmp_path / "a.json") == b"new"
    assert check_file(tmp_path, "a.json") is None


@given(st.data())
def test_every_flipped_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("flips")
    (folder / "epochs").mkdir()
    for number, name in enumerate(NAMES):
        write_file(folder / name, f'{{"loss": {number}}}\n', root=folder)
    write_file(folder / NAMES[0], '{"loss": 17}\n')
    name = data.draw(st.sampled_from([*NAMES, CHECKSUMS]))
    size = (folder / name).stat().st_size
    flip(folder / name, data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, 255)))
    faults = [check_file(folder, file) for file in NAMES]
    journal = read_journal(folder)
    assert journal is not None
    assert any(faults) or journal.damaged
    if name != CHECKSUMS:
        with pytest.raises(ChecksumError, match="changed after it was written"):
            read_file(folder / name, root=folder)


def test_a_file_without_a_checksum_is_taken_as_it_is_unless_a_line_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("1")
    assert read_file(tmp_path / "old.json", root=tmp_path) == b"1"
    write_file(tmp_path / "new.json", "2")
    assert read_file(tmp_path / "old.json", root=tmp_path) == b"1"
    flip(tmp_path / CHECKSUMS, 3, 1)  # it might be the line of that file
    for name in ("old.json", "new.json"):
        with pytest.raises(ChecksumError, match=r"line 1 of checksums.txt is damaged"):
            read_file(tmp_path / name, root=tmp_path)


def test_a_file_that_is_gone_is_missing_unless_it_was_removed(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_file(tmp_path / name, name)
    remove_file(tmp_path / "a")
    (tmp_path / "b").unlink()
    assert [check_file(tmp_path, name) for name in ("a", "b", "c")] == [None, "is missing", None]


def test_the_length_is_compared_before_a_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "weights", b"123")
    os.truncate(tmp_path / "weights", 2**30)
    monkeypatch.setattr(checksums.hashlib, "sha256", None)  # nothing is hashed
    with pytest.raises(ChecksumError, match="has 1,073,741,824 bytes instead of 3"):
        read_file(tmp_path / "weights", limit=2**32)


def test_a_log_may_grow_but_not_change(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("one\n")
    record_growing(log)
    with log.open("a") as file:
        file.write("two\n")
    assert check_file(tmp_path, "log.txt") is None
    flip(log, 1, 1)
    assert check_file(tmp_path, "log.txt") is not None
    flip(log, 1, 1)
    os.truncate(log, 2)
    assert check_file(tmp_path, "log.txt") is not None


def test_a_text_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    write_changed(tmp_path / "a", "text")
    before = (tmp_path / CHECKSUMS).read_bytes()
    write_changed(tmp_path / "a", "text")
    assert (tmp_path / CHECKSUMS).read_bytes() == before
    flip(tmp_path / "a", 0, 1)
    write_changed(tmp_path / "a", "text")
    assert read_file(tmp_path / "a", root=tmp_path) == b"text"


@pytest.mark.parametrize("seed", range(10))
def test_kills_are_never_taken_for_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """One writer after another, killed before its line, within it, between line and file, or never."""
    random = Random(seed)
    (tmp_path / "epochs").mkdir()
    append = checksums._append
    plan = iter(())

    def kill_within(folder: Path, name: str, sha256: str, size: int) -> None:
        moment = next(plan, None)
        if moment == "before":
            raise Killed
        append(folder, name, sha256, size)
        if moment == "within":
            lines = (folder / CHECKSUMS).read_bytes().splitlines(keepends=True)
            written = random.randrange(len(lines[-1]))
            os.truncate(folder / CHECKSUMS, len(b"".join(lines[:-1])) + written)
            raise Killed
        if moment == "between":
            raise Killed

    monkeypatch.setattr(checksums, "_append", kill_within)
    contents: dict[str, bytes | None] = dict.fromkeys(NAMES)
    for number in range(40):
        name = random.choice(NAMES)
        data = None if random.random() < 0.3 else f"{number}".encode() * random.randint(1, 3)
        plan = iter([random.choice(("before", "within", "between", None))])
        try:
            if data is None:
                remove_file(tmp_path / name, root=tmp_path)
            else:
                write_file(tmp_path / name, data, root=tmp_path)
            contents[name] = data
        except Killed:
            checksums._unfinished.clear()  # that process is no more
            for file, expected in contents.items():
                assert check_file(tmp_path, file) is None
                if expected is not None:
                    assert read_file(tmp_path / file, root=tmp_path) == expected
            plan = iter(())
            settle(tmp_path)
        for file, expected in contents.items():
            assert check_file(tmp_path, file) is None
            assert (tmp_path / file).exists() == (expected is not None)
    journal = read_journal(tmp_path)
    assert journal is not None
    assert not journal.damaged


def test_a_write_that_fails_is_made_good_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "a", "1")

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_bytes", full)
        for text in ("2", "3"):
            with pytest.raises(OSError, match="no space"):
                write_file(tmp_path / "a", text)
            assert read_file(tmp_path / "a", root=tmp_path) == b"1"


def test_a_reader_never_takes_a_write_for_damage(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        for number in range(300):
            write_file(tmp_path / "a", f"{number}" * (1 + number % 7))
        os._exit(0)
    seen = set()
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if (tmp_path / "a").exists():
            seen.add(read_file(tmp_path / "a", root=tmp_path))
    assert seen


def test_lines_are_added_to_what_is_there(tmp_path: Path) -> None:
    lines = AppendedFile(tmp_path / METRICS)
    assert not lines.is_known
    for number in range(3):
        lines.append(b"%d\n" % number)
        assert lines.is_known
    inode = lines.path.stat().st_ino
    again = AppendedFile(tmp_path / METRICS)
    again.append(b"3\n")
    assert not lines.is_known
    lines.append(b"4\n")
    assert lines.path.stat().st_ino == inode
    assert read_file(lines.path, root=tmp_path) == b"0\n1\n2\n3\n4\n"
    assert check_file(tmp_path, METRICS) is None


def test_lines_are_added_to_a_file_without_a_checksum_by_writing_it_anew(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_bytes(b"0\n")
    inode = (tmp_path / METRICS).stat().st_ino
    AppendedFile(tmp_path / METRICS).append(b"1\n")
    assert (tmp_path / METRICS).stat().st_ino != inode  # a line written in part would be damage
    assert read_file(tmp_path / METRICS, root=tmp_path) == b"0\n1\n"


@pytest.mark.parametrize("written", range(6))
def test_a_line_that_was_written_in_part_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    lines = AppendedFile(tmp_path / METRICS)
    lines.append(b"old\n")

    def kill_within(handle: int, data: bytes, size: int) -> None:  # noqa: ARG001
        os.write(handle, data[:written])
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checksums, "_append_all", kill_within)
        with pytest.raises(Killed):
            lines.append(b"line\n")
    checksums._unfinished.clear()  # that process is no more
    expected = b"old\nline\n" if written == 5 else b"old\n"
    for _ in range(2):  # before and after it is settled
        assert read_file(lines.path, root=tmp_path) == expected
        assert check_file(tmp_path, METRICS) is None
        settle(tmp_path)
    assert lines.path.read_bytes() == expected
    AppendedFile(tmp_path / METRICS).append(b"new\n")
    assert read_file(lines.path, root=tmp_path) == expected + b"new\n"


def test_the_beginning_of_a_line_hides_no_change_before_it(tmp_path: Path) -> None:
    lines = AppendedFile(tmp_path / METRICS)
    lines.append(b"old\n")
    lines.append(b"line\n")
    lines.path.write_bytes(b"olt\nlin")
    with pytest.raises(ChecksumError, match="does not have the checksum"):
        read_file(lines.path, root=tmp_path)
    settle(tmp_path)
    assert check_file(tmp_path, METRICS) is not None


def test_a_full_disk_leaves_a_file_without_the_lines_that_did_not_fit(tmp_path: Path) -> None:
    lines = AppendedFile(tmp_path / METRICS)
    lines.append(old := b"x" * 5000 + b"\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5010, hard))
    try:
        with pytest.raises(OSError, match=r"metrics\.jsonl"):
            lines.append(b"y" * 20 + b"\n")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert lines.path.read_bytes() == old
    assert read_file(lines.path, root=tmp_path) == old
    lines.append(b"z\n")
    assert read_file(lines.path, root=tmp_path) == old + b"z\n"


def test_a_reader_never_sees_a_part_of_a_line(tmp_path: Path) -> None:
    AppendedFile(tmp_path / METRICS).append(b"line\n")
    pid = os.fork()
    if pid == 0:
        lines = AppendedFile(tmp_path / METRICS)
        for number in range(200):
            lines.append(b"line\n" * (1 + number % 7))
        os._exit(0)
    seen = set()
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        seen.add(len(data := read_file(tmp_path / METRICS, root=tmp_path)))
        assert set(data.splitlines(keepends=True)) == {b"line\n"}
    assert len(seen) > 1


@given(st.integers(0, 10_000), st.integers(1, 255), st.booleans())
def test_a_sealed_text_does_not_change_unnoticed(position: int, mask: int, indented: bool) -> None:
    text = '{\n "a": 1,\n "b": [2, 3]\n}\n' if indented else '{"a": 1, "b": [2, 3]}'
    data = bytearray(seal(text).encode())
    assert unseal(bytes(data), "here") == text.rstrip().removesuffix("}").rstrip().encode() + b"}"
    data[position % len(data)] ^= mask
    with pytest.raises(ChecksumError, match="here"):
        unseal(bytes(data), "here")


def test_a_text_that_never_was_sealed_is_as_before() -> None:
    assert unseal(b'{"a": 1}\n', "here") == b'{"a": 1}\n'
