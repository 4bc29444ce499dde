"""Records of TensorFlow's files and fields of protocol buffers, read without either library.

A TFRecord file is a row of records: the length (8 bytes, the lowest first), its checksum (4), the data and
the checksum of the data (4). The checksum is CRC-32C, turned by 15 bits with a constant added.
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
"""Records whose checksums are worked out at once."""
FRAME_BYTES = 16
"""What a record takes beside its data."""
MOST_BYTES = 1 << 14
"""A record beyond this is taken for damage: those of the benchmarks have some hundred bytes."""
POLYNOMIAL = 0x82F63B78
"""Of CRC-32C (RFC 3720), the lowest bit first."""
TURN, MASK = 15, 0xA282EAD8

Checksums = NDArray[np.uint32]


class _Framed(NamedTuple):
    head: bytes
    head_sum: int
    data: bytes
    data_sum: int


def read_records(path: Path) -> Iterator[bytes]:
    """The data of every record of a TFRecord file, in order, after its checksums were checked.

    Raises:
        TableError: If the file cannot be read, is cut off or damaged; says where.
    """
    done = 0
    try:
        with path.open("rb") as file:
            framed = _framed(file)
            while batch := list(islice(framed, BATCH)):
                _check_sums(batch, done)
                yield from (own.data for own in batch)
                done += len(batch)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _framed(file: BinaryIO) -> Iterator[_Framed]:
    number = 0
    while head := file.read(12):
        length = int.from_bytes(head[:8], "little")
        body = file.read(length + 4) if len(head) == 12 and length <= MOST_BYTES else b""
        if len(body) < length + 4:
            raise _damaged(number)
        sums = (int.from_bytes(part, "little") for part in (head[8:], body[length:]))
        yield _Framed(head[:8], next(sums), body[:length], next(sums))
        number += 1


def _check_sums(batch: list[_Framed], done: int) -> None:
    fits = masked(crc32c([own.head for own in batch])) == [own.head_sum for own in batch]
    fits &= masked(crc32c([own.data for own in batch])) == [own.data_sum for own in batch]
    if not fits.all():
        raise _damaged(done + int(np.argmin(fits)))


def _damaged(number: int) -> TableError:
    return TableError(
        f"damaged or cut off at record {number}, if this is a TFRecord file at all; get it again"
    )


def crc32c(texts: list[bytes]) -> Checksums:
    """The CRC-32C of each text [texts], all at once: byte after byte of all of them."""
    lengths = np.array([len(text) for text in texts])
    width = int(lengths.max(initial=0))
    padded = b"".join(text.ljust(width, b"\0") for text in texts)
    columns = np.frombuffer(padded, np.uint8).reshape(len(texts), width).T
    sums = np.full(len(texts), 0xFFFFFFFF, np.uint32)
    for place, column in enumerate(columns):
        stepped = _steps()[(sums ^ column) & 0xFF] ^ sums >> np.uint32(8)
        sums = np.where(place < lengths, stepped, sums)
    return ~sums


def masked(sums: Checksums) -> Checksums:
    """The checksums as TFRecord files have them."""
    return (sums >> np.uint32(TURN) | sums << np.uint32(32 - TURN)) + np.uint32(MASK)


@cache
def _steps() -> Checksums:
    """What one byte does to a checksum [256]."""
    steps = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        steps = np.where(steps & 1, steps >> np.uint32(1) ^ np.uint32(POLYNOMIAL), steps >> np.uint32(1))
    return steps


def fields(message: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    """Number and value of every field of a protocol buffer, in order.

    Whole numbers, doubles and what has a length (texts, inner messages: as bytes) are read, no other kinds.

    Raises:
        TableError: If the message ends in a field, or has one of another kind.
    """
    place = 0
    try:
        while place < len(message):
            tag, place = _varint(message, place)
            value, place = _value(message, place, tag & 7)
            yield tag >> 3, value
    except (IndexError, struct.error):
        raise TableError("a message ends in the middle of a field") from None


def _value(message: bytes, place: int, kind: int) -> tuple[int | float | bytes, int]:
    if kind == 0:
        return _varint(message, place)
    if kind == 1:
        return struct.unpack_from("<d", message, place)[0], place + 8
    if kind == 2:
        length, place = _varint(message, place)
        if place + length > len(message):
            raise IndexError
        return message[place : place + length], place + length
    raise TableError(f"a message has a field of kind {kind}; expected 0, 1 or 2")


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """The whole number, seven bits a byte and the lowest first, that begins at a place, and where it ends."""
    value = shift = 0
    while message[place] & 0x80:
        value |= (message[place] & 0x7F) << shift
        shift += 7
        place += 1
    return value | message[place] << shift, place + 1
