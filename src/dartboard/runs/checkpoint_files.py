"""The two files of a checkpoint and their checksums, read without torch; see `dartboard.runs.checkpoint`."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, TypeAlias

from dartboard.errors import CheckpointError, UnsafeFileError
from dartboard.utils import atomic
from dartboard.utils.formats import check_format
from dartboard.utils.safe_files import TEXT_LIMIT, read_file

FORMAT = 1
TENSORS = "tensors.safetensors"
STATE = "state.json"

JSON: TypeAlias = Any
"""Values that `json.dumps` accepts, with str keys and finite floats only."""

_NAME = re.compile(rf"step-(\d{{10,}})({re.escape(atomic.OLD)})?")


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; none if there is no such folder."""
    paths = {path.name: path for path in folder.glob("step-*") if _NAME.fullmatch(path.name)}
    replaced = {name + atomic.OLD for name in paths}
    return sorted((path for name, path in paths.items() if name not in replaced), key=step_of)


def read_verified(path: Path) -> tuple[dict[str, JSON], bytes]:
    """The contents of the JSON file of a checkpoint and the bytes of its tensors, as they were written.

    Raises:
        CheckpointError: If they are not; names the file and says what is wrong.
    """
    file = path / TENSORS
    try:
        contents = _unseal(path / STATE)
        checksum = contents["tensors"]
        data = read_file(file, root=path.parents[1], limit=max(checksum["bytes"], TEXT_LIMIT))
    except FileNotFoundError as error:
        raise CheckpointError(f"{error.filename} is missing") from None
    except UnsafeFileError as error:
        raise CheckpointError(str(error)) from None
    if len(data) < checksum["bytes"]:
        raise CheckpointError(f"{file} is truncated: it has {len(data)} of {checksum['bytes']} bytes")
    if hashlib.sha256(data).hexdigest() != checksum["sha256"]:
        raise CheckpointError(f"{file} was changed after it was written: its checksum differs")
    return contents, data


def step_of(path: Path) -> int:
    """The step of a checkpoint, from its name."""
    return int(path.name.removesuffix(atomic.OLD).removeprefix("step-"))


def seal_state(contents: dict[str, JSON]) -> str:
    """JSON whose last entry is the checksum of the others; equal contents give the same text."""
    sha256 = hashlib.sha256(json.dumps(contents).encode()).hexdigest()
    return json.dumps({**contents, "sha256": sha256}, indent=1) + "\n"


def _unseal(path: Path) -> dict[str, JSON]:
    """The contents of a sealed file, if every byte is as it was written."""
    try:
        text = read_file(path, root=path.parents[2]).decode()
        contents = json.loads(text)
    except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON
        raise CheckpointError(f"{path} is not JSON: cut off or overwritten ({error})") from None
    sealed = dict(contents) if isinstance(contents, dict) else {}
    sealed.pop("sha256", None)
    if seal_state(sealed) != text:
        raise CheckpointError(f"{path} was changed after it was written: its checksum differs")
    check_format(sealed.get("format"), FORMAT, path, CheckpointError)
    return sealed
