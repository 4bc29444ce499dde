"""TFRecord files and protocol buffers, read without TensorFlow or protobuf.

A TFRecord file is a sequence of records: the length (8 bytes, little-endian), its checksum (4), the data and
the checksum of the data (4). The checksum is CRC-32C, rotated by 15 bits with a constant added.
"""

import struct
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import TableError

BATCH = 4096
"""Number of records whose checksums are computed at once."""
FRAME_BYTES = 16
"""Size of a record without its data."""
MOST_BYTES = 1 << 14
"""Largest record; a longer one is taken for damage: those of the benchmarks have some hundred bytes."""
POLYNOMIAL = 0x82F63B78
"""Polynomial of CRC-32C (RFC 3720), lowest bit first."""
ROTATION, MASK = 15, 0xA282EAD8

Checksums = NDArray[np.uint32]


class _Frame(NamedTuple):
    length: bytes
    length_checksum: int
    data: bytes
    data_checksum: int


def read_records(path: Path) -> Iterator[bytes]:
    """The data of every record of a TFRecord file, in order, after its checksums were checked.

    Raises:
        TableError: If the file cannot be read, is cut off or damaged; says where.
    """
    done = 0
    try:
        with path.open("rb") as file:
            frames = _read_frames(file)
            while batch := list(islice(frames, BATCH)):
                valid = masked(crc32c([frame.length for frame in batch])) == [
                    frame.length_checksum for frame in batch
                ]
                valid &= masked(crc32c([frame.data for frame in batch])) == [
                    frame.data_checksum for frame in batch
                ]
                if not valid.all():
                    raise _damaged(done + int(np.argmin(valid)))
                yield from (frame.data for frame in batch)
                done += len(batch)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _read_frames(file: BinaryIO) -> Iterator[_Frame]:
    number = 0
    while head := file.read(12):
        length = int.from_bytes(head[:8], "little")
        body = file.read(length + 4) if len(head) == 12 and length <= MOST_BYTES else b""
        if len(body) < length + 4:
            raise _damaged(number)
        length_checksum, data_checksum = (
            int.from_bytes(data, "little") for data in (head[8:], body[length:])
        )
        yield _Frame(head[:8], length_checksum, body[:length], data_checksum)
        number += 1


def _damaged(number: int) -> TableError:
    return TableError(
        f"damaged or cut off at record {number}, if this is a TFRecord file at all; get it again"
    )


def crc32c(texts: list[bytes]) -> Checksums:
    """CRC-32C of each text [texts], computed for all at once, byte by byte."""
    lengths = np.array([len(text) for text in texts])
    width = int(lengths.max(initial=0))
    padded = b"".join(text.ljust(width, b"\0") for text in texts)
    columns = np.frombuffer(padded, np.uint8).reshape(len(texts), width).T
    sums = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for index, column in enumerate(columns):
        updated = _crc_table()[(sums ^ column) & 0xFF] ^ sums >> np.uint32(8)
        sums = np.where(index < lengths, updated, sums)
    return ~sums


def masked(sums: Checksums) -> Checksums:
    """The checksums as TFRecord files store them."""
    return (sums >> np.uint32(ROTATION) | sums << np.uint32(32 - ROTATION)) + np.uint32(MASK)


@cache
def _crc_table() -> Checksums:
    """CRC-32C of each byte [256]."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> np.uint32(1) ^ np.uint32(POLYNOMIAL), table >> np.uint32(1))
    return table


def fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Number and value of every field of a protocol buffer, in order.

    Integers, doubles and length-delimited values (strings, inner messages: as bytes) are supported.

    Raises:
        TableError: If the message ends in a field, or has one of another kind.
    """
    offset = 0
    try:
        while offset < len(message):
            tag, offset = _varint(message, offset)
            value, offset = _value(message, offset, tag & 7)
            yield tag >> 3, value
    except (IndexError, struct.error):
        raise TableError("a message ends in the middle of a field") from None


def _value(message: bytes, offset: int, kind: int) -> tuple[int | float | bytes, int]:
    """The value at an offset, and the offset after it."""
    if kind == 0:
        return _varint(message, offset)
    if kind == 1:
        return struct.unpack_from("<d", message, offset)[0], offset + 8
    if kind == 2:
        length, offset = _varint(message, offset)
        if offset + length > len(message):
            raise IndexError
        return message[offset : offset + length], offset + length
    raise TableError(f"a message has a field of kind {kind}; expected 0, 1 or 2")


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    """The integer at an offset, seven bits a byte with the lowest first, and the offset after it."""
    value = shift = 0
    while message[offset] & 0x80:
        value |= (message[offset] & 0x7F) << shift
        shift += 7
        offset += 1
    return value | message[offset] << shift, offset + 1
