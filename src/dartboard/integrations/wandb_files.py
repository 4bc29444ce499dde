"""The files that W&B writes offline: records in the log format of LevelDB, each a protocol buffer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK, HEADER, START = 32768, 7, 7
"""Bytes of a block, of the header of a chunk in it, and of the header of the file."""
FULL, FIRST, LAST = 1, 2, 4
"""Chunks that are a record, that begin one, and that end one."""


def read_records(path: Path) -> Iterator[Any]:
    """The complete records of a `.wandb` file, in order; of a killed process the last may be missing."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, position, record = path.read_bytes(), START, b""
    while position + HEADER <= len(data):
        left = BLOCK - position % BLOCK
        if left < HEADER:  # the rest of a block that no header fits into
            position += left
            continue
        size, kind = int.from_bytes(data[position + 4 : position + 6], "little"), data[position + 6]
        chunk = data[position + HEADER : position + HEADER + size]
        if len(chunk) < size or not kind:
            return
        position += HEADER + size
        record = chunk if kind in (FULL, FIRST) else record + chunk
        if kind in (FULL, LAST):
            yield Record.FromString(record)


def last_step(folder: Path, run_id: str) -> int | None:
    """The last step that earlier processes wrote of a run, 0 for none; None if they left no file."""
    files = [*folder.glob(f"offline-run-*-{run_id}/run-{run_id}.wandb")]
    if not files:
        return None
    items = [item for path in files for record in read_records(path) for item in record.history.item]
    return max((int(item.value_json) for item in items if [*item.nested_key] == ["_step"]), default=0)
