import struct
from pathlib import Path

import numpy as np
import pytest

from dartboard.errors import TableError
from dartboard.tables import nb101_import
from dartboard.tables.nb101_import import crc32c, fields, masked, read_records
from helpers.nb101_data import frame

RECORDS = [b"one", b"", b"a longer record", bytes(range(256))]


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_checksums_are_those_of_the_standard():
    """The examples of RFC 3720, appendix B.4, and the usual nine digits."""
    examples = {
        b"123456789": 0xE3069283,
        bytes(32): 0x8A9136AA,
        b"\xff" * 32: 0x62A8AB43,
        bytes(range(32)): 0x46DD794E,
        bytes(range(31, -1, -1)): 0x113FDB5C,
        b"": 0,
    }
    assert crc32c(list(examples)).tolist() == list(examples.values())
    assert [crc32c([text]).item() for text in examples] == list(examples.values())


def test_checksums_are_turned_and_shifted():
    """The length 0 of an empty record, as TensorFlow writes it."""
    sums = masked(crc32c([bytes(8), b""]))
    assert struct.pack("<2I", *sums.tolist()) == bytes.fromhex("29039807 d8ea82a2")


def test_no_texts_have_no_checksums():
    assert crc32c([]).shape == (0,)


@pytest.mark.parametrize("batch", [1, 3, 4, 100])
def test_records_come_in_order(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(nb101_import, "BATCH", batch)
    path = written(tmp_path / "file", b"".join(map(frame, RECORDS)))
    assert list(read_records(path)) == RECORDS


def test_an_empty_file_has_no_records(tmp_path):
    assert list(read_records(written(tmp_path / "file", b""))) == []


def test_every_changed_bit_is_noticed(tmp_path):
    whole = b"".join(map(frame, RECORDS[:3]))
    for place in range(8 * len(whole)):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        with pytest.raises(TableError, match=r"file: damaged or cut off at record \d,"):
            list(read_records(written(tmp_path / "file", bytes(data))))


def test_every_cut_is_noticed_except_between_records(tmp_path):
    whole = b"".join(map(frame, RECORDS[:3]))
    ends = np.cumsum([len(frame(record)) for record in RECORDS[:3]])
    for length in range(1, len(whole)):
        path = written(tmp_path / "file", whole[:length])
        if length in ends:
            assert len(list(read_records(path))) == 1 + ends.tolist().index(length)
            continue
        with pytest.raises(TableError, match=f"cut off at record {np.searchsorted(ends, length)},"):
            list(read_records(path))


def test_the_damaged_record_is_named_beyond_the_first_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(nb101_import, "BATCH", 2)
    spoilt = frame(RECORDS[2])[:-1] + b"\0"
    path = written(tmp_path / "file", b"".join([*map(frame, RECORDS), spoilt]))
    with pytest.raises(TableError, match="file: damaged or cut off at record 4"):
        list(read_records(path))


def test_other_files_are_no_records(tmp_path):
    with pytest.raises(TableError, match="at record 0, if this is a TFRecord file at all"):
        list(read_records(written(tmp_path / "file", b"PK\3\4 and so on, an archive of arrays")))
    with pytest.raises(TableError, match=r"absent: cannot be read \(No such file"):
        list(read_records(tmp_path / "absent"))


def test_fields_of_every_kind_that_is_read():
    message = (
        b"\x08\x96\x01" + b"\x11" + struct.pack("<d", 0.75) + b"\x1a\x03abc" + b"\x08\x00" + b"\x80\x02\x01"
    )
    assert list(fields(message)) == [(1, 150), (2, 0.75), (3, b"abc"), (1, 0), (32, 1)]
    assert list(fields(b"")) == []


@pytest.mark.parametrize("message", [b"\x08", b"\x08\x96", b"\x11abc", b"\x1a\x03ab", b"\x1a", b"\x80"])
def test_a_field_that_is_cut_off_is_refused(message):
    with pytest.raises(TableError, match="ends in the middle of a field"):
        list(fields(message))


def test_a_field_of_another_kind_is_refused():
    with pytest.raises(TableError, match="field of kind 5; expected 0, 1 or 2"):
        list(fields(b"\x0d\0\0\0\0"))
