"""Official .tfrecord files of NAS-Bench-101, read without TensorFlow, and the table made from them.

A TFRecord file is a sequence of records: the length (8 bytes, little-endian), its checksum (4), the data and
the checksum of the data (4). The checksum is CRC-32C, rotated by 15 bits with a constant added. A record of
nasbench_only108.tfrecord or nasbench_full.tfrecord is one training of a cell: JSON with the graph's hash, the
epochs, the matrix as a string of digits, the ops separated by commas, and the metrics, a protocol buffer in
base64.
"""

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import GenotypeError, TableError
from dartboard.space import prune_nb101
from dartboard.tables.base import IMPORTS
from dartboard.tables.nb101_table import LABELS, Nb101Columns, edge_bits, ops_codes, write_table
from dartboard.utils.progress import Progress, no_progress

EPOCHS = 108
EVALUATION, PARAMETERS = 1, 2
"""Fields of the metrics: the evaluations at the start, half-way and at the end; trainable parameters."""
VALID, TEST = 4, 5
"""Fields of an evaluation: accuracies from 0 to 1."""

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


@dataclass(slots=True)
class _CellTotals:
    """A cell, and the sums over its trainings."""

    vertices: int
    edges: int
    ops: int
    parameters: int
    trainings: int = 0
    valid: float = 0.0
    test: float = 0.0


@IMPORTS.register("nb101")
def import_tfrecord(path: Path, out: Path, progress: Progress) -> int:
    """The file nasbench_only108.tfrecord or nasbench_full.tfrecord of NAS-Bench-101."""
    table = read_tfrecord(path, progress)
    write_table(out, table)
    return len(table)


def read_tfrecord(path: Path, progress: Progress = no_progress) -> Nb101Columns:
    """The table of an official file: accuracies after 108 epochs, means over the trainings of each cell.

    Rows are in the order of their graphs' hashes. The file is read once, record by record; progress is the
    number of bytes read.

    Raises:
        TableError: If the file is damaged or has another record; says which.
    """
    cells: dict[str, _CellTotals] = {}
    size, done = path.stat().st_size if path.is_file() else 0, 0
    for number, record in enumerate(read_records(path)):
        if number % BATCH == 0:
            progress(path.name, done, size)
        try:
            _add_training(cells, record)
        except (TableError, GenotypeError) as error:
            raise TableError(f"{path}: record {number}: {error}") from None
        done += len(record) + FRAME_BYTES
    progress(path.name, done, size)
    if not cells:
        raise TableError(f"{path}: has no training of {EPOCHS} epochs")
    rows = [cells[graph] for graph in sorted(cells)]
    columns = {
        "vertices": np.array([cell.vertices for cell in rows], np.int64),
        "adj_bits": np.array([cell.edges for cell in rows], np.int64),
        "ops_code": np.array([cell.ops for cell in rows], np.int64),
        "params": np.array([cell.parameters for cell in rows], np.int64),
        "test_acc_108": np.array([cell.test / cell.trainings for cell in rows], np.float64),
        "valid_acc_108": np.array([cell.valid / cell.trainings for cell in rows], np.float64),
    }
    try:
        return Nb101Columns(columns)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _add_training(cells: dict[str, _CellTotals], record: bytes) -> None:
    """Adds one training to those of its cell, unless it has another number of epochs."""
    try:
        values = json.loads(record)
    except (ValueError, RecursionError):
        raise TableError("is not JSON; expected a training of NAS-Bench-101") from None
    if not isinstance(values, list) or list(map(type, values)) != [str, int, str, str, str]:
        raise TableError("expected hash, epochs, matrix, ops and metrics of a training of NAS-Bench-101")
    graph, epochs, digits, ops, metrics = values
    if epochs != EPOCHS:
        return
    parameters, valid, test = _read_metrics(metrics)
    if graph not in cells:
        size = ops.count(",") + 1
        if len(digits) != size**2 or not set(digits) <= {"0", "1"}:
            raise TableError(f"expected a matrix of {size}x{size} digits 0 and 1, got {digits[:60]!r}")
        rows = [list(map(int, digits[start : start + size])) for start in range(0, size**2, size)]
        matrix, pruned = prune_nb101(rows, ops.split(","))
        same_order = np.arange(len(pruned))[None]
        labels = [LABELS.index(op) for op in pruned[1:-1]]
        edges, code = edge_bits(matrix, same_order), ops_codes(labels, same_order)
        cells[graph] = _CellTotals(len(pruned), int(edges[0]), int(code[0]), parameters)
    cell = cells[graph]
    cell.trainings += 1
    cell.valid += valid
    cell.test += test


def _read_metrics(text: str) -> tuple[int, float, float]:
    """Parameters, validation accuracy and test accuracy at the end of a training."""
    try:
        message = list(fields(base64.b64decode("".join(text.split()), validate=True)))
    except ValueError as error:  # base64's own and those of `fields`
        raise TableError(f"its metrics cannot be read ({error})") from None
    evaluations = [value for number, value in message if number == EVALUATION and isinstance(value, bytes)]
    if len(evaluations) != 3:
        raise TableError(f"expected 3 evaluations, at start, half-way and end; got {len(evaluations)}")
    parameters = dict(message).get(PARAMETERS)
    if not isinstance(parameters, int):
        raise TableError(f"expected a number of trainable parameters, got {parameters!r}")
    final = dict(fields(evaluations[-1]))
    for number in (VALID, TEST):
        value = final.get(number)
        if not isinstance(value, float) or not 0 <= value <= 1:
            raise TableError(
                f"field {number} of its last evaluation: expected a share from 0 to 1, got {value!s}"
            )
    return parameters, float(final[VALID]), float(final[TEST])


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
                lengths, length_checksums, records, checksums = map(list, zip(*batch, strict=True))
                valid = masked(crc32c(lengths)) == length_checksums
                valid &= masked(crc32c(records)) == checksums
                if not valid.all():
                    raise _damaged(done + int(np.argmin(valid)))
                yield from records
                done += len(batch)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _read_frames(file: BinaryIO) -> Iterator[tuple[bytes, int, bytes, int]]:
    """Length, its checksum, data and its checksum of each record; the checksums are not checked."""
    number = 0
    while head := file.read(12):
        length = int.from_bytes(head[:8], "little")
        body = file.read(length + 4) if len(head) == 12 and length <= MOST_BYTES else b""
        if len(body) < length + 4:
            raise _damaged(number)
        length_checksum, data_checksum = (
            int.from_bytes(data, "little") for data in (head[8:], body[length:])
        )
        yield head[:8], length_checksum, body[:length], data_checksum
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
            number, kind = tag >> 3, tag & 7
            value: int | float | bytes
            if kind == 0:
                value, offset = _varint(message, offset)
            elif kind == 1:
                value, offset = struct.unpack_from("<d", message, offset)[0], offset + 8
            elif kind == 2:
                length, offset = _varint(message, offset)
                if offset + length > len(message):
                    raise IndexError
                value, offset = message[offset : offset + length], offset + length
            else:
                raise TableError(f"a message has a field of kind {kind}; expected 0, 1 or 2")
            yield number, value
    except (IndexError, struct.error):
        raise TableError("a message ends in the middle of a field") from None


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    """The integer at an offset, seven bits a byte with the lowest first, and the offset after it."""
    value = shift = 0
    while message[offset] & 0x80:
        value |= (message[offset] & 0x7F) << shift
        shift += 7
        offset += 1
    return value | message[offset] << shift, offset + 1
