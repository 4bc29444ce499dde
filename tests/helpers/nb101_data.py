"""Tables of NAS-Bench-101 to test with: a small one made here, and the whole one where it is at hand."""

import base64
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

C3, C1, MP = "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"

CELLS = (
    ([[0, 1], [0, 0]], ["input", "output"]),
    ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], ["input", MP, "output"]),
    ([[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]], ["input", C1, C3, "output"]),
    ([[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]], ["input", C3, MP, "output"]),
)
"""The cells of the small table."""
SMALL = {
    "vertices": np.array([2, 3, 4, 4]),
    "adj_bits": np.array([0b1, 0b101, 0b111011, 0b110111]),
    "ops_code": np.array([1, 3 + 2, 9 + 3 * 1 + 0, 9 + 3 * 0 + 2]),
    "params": np.array([1, 2, 3, 4]),
    "test_acc_108": np.array([0.5, 0.25, 0.75, 0.875]),
}
"""The columns of the small table."""


def folder() -> Path:
    """The folder with facts gathered from public sources; the test is skipped where there is none."""
    place = Path(os.environ.get("DARTBOARD_DATA", "nowhere"))
    if not (place / "nb101.npz").exists():
        pytest.skip("DARTBOARD_DATA does not name a folder with nb101.npz")
    return place


def frame(record: bytes) -> bytes:
    """A record as TFRecord files have it, its checksums worked out bit by bit."""
    head = struct.pack("<Q", len(record))
    return head + struct.pack("<I", _masked(head)) + record + struct.pack("<I", _masked(record))


def _masked(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def training(matrix: list[list[int]], ops: list[str], **measured: object) -> bytes:
    """A record of the official file: one training of a cell.

    Args:
        matrix: The cell's edges.
        ops: The cell's ops.
        measured: Any of `graph` (its hash), `epochs`, `parameters`, `valid`, `test`, `evaluations`.
    """
    known = {"graph": "00", "epochs": 108, "parameters": 5, "valid": 0.5, "test": 0.5, "evaluations": 3}
    known |= measured
    early = _evaluation(0.0, 0.1, 0.1)
    last = _evaluation(float(known["epochs"]), known["valid"], known["test"])
    message = [*[early] * (known["evaluations"] - 1), last]
    metrics = b"".join(b"\x0a" + _varint(len(one)) + one for one in message)
    metrics += b"\x10" + _varint(known["parameters"]) + b"\x19" + struct.pack("<d", 1234.5)
    digits = "".join(str(entry) for row in matrix for entry in row)
    text = base64.b64encode(metrics).decode()
    return json.dumps([known["graph"], known["epochs"], digits, ",".join(ops), text]).encode()


def _evaluation(epoch: float, valid: float, test: float) -> bytes:
    numbers = enumerate((epoch, 99.5, 0.99, valid, test), start=1)
    doubles = b"".join(bytes([number << 3 | 1]) + struct.pack("<d", value) for number, value in numbers)
    return doubles + b"\x32\x04path"


def _varint(value: int) -> bytes:
    parts = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])
