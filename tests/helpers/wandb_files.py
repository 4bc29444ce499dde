"""What W&B writes offline: a file of records in the log format of LevelDB, each a protocol buffer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK, HEADER, START = 32768, 7, 7
FULL, FIRST, LAST = 1, 2, 4


def read_records(path: Path) -> Iterator[Any]:
    """The records of a `.wandb` file, in order."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, position, record = path.read_bytes(), START, b""
    while position + HEADER <= len(data):
        left = BLOCK - position % BLOCK
        if left < HEADER:  # the rest of a block that no header fits into
            position += left
            continue
        size, kind = int.from_bytes(data[position + 4 : position + 6], "little"), data[position + 6]
        chunk = data[position + HEADER : position + HEADER + size]
        position += HEADER + size
        record = chunk if kind in (FULL, FIRST) else record + chunk
        if kind in (FULL, LAST):
            yield Record.FromString(record)
