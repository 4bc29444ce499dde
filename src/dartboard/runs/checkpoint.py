"""Checkpoints: whole directories with tensors, plain values and checksums of both.

checkpoints/step-0000000123/tensors.safetensors   the tensors of the state
checkpoints/step-0000000123/state.json            everything else, and the checksums
"""

import hashlib
import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path

import safetensors.torch
from torch import Tensor

from dartboard.errors import CheckpointError, RunError
from dartboard.runs.tree import JSON, Tree, pack, unpack
from dartboard.utils import atomic

FORMAT = 1
TENSORS = "tensors.safetensors"
STATE = "state.json"

_NAME = re.compile(rf"step-(\d{{10,}})({re.escape(atomic.OLD)})?")
_log = logging.getLogger(__name__)


def save_checkpoint(folder: Path, step: int, state: Tree, *, keep: int = 2) -> Path:
    """Writes a checkpoint and returns its directory.

    Once it is in place, checkpoints before the newest `keep` are removed, and so are those of later
    steps: they belong to a course of the run that was given up. One of the same step is replaced.

    Args:
        folder: Where the run's checkpoints are; nobody else may be writing there.
        step: How far the run has come.
        state: What to write.
        keep: How many to keep, this one included.
    """
    if step < 0 or keep < 1:
        raise RunError(f"a checkpoint is of step 0 or later and at least 1 is kept; got {step=}, {keep=}")
    folder.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    path = folder / f"step-{step:010d}"
    with atomic.atomic_directory(path) as temporary:
        _write(temporary, state)
    _prune(folder, step, keep)
    return path


def list_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first; none if there is no such folder."""
    found = {path.name: path for path in folder.glob("step-*") if _NAME.fullmatch(path.name)}
    replaced = {name + atomic.OLD for name in found}
    return sorted((path for name, path in found.items() if name not in replaced), key=_step)


def load_checkpoint(path: Path) -> Tree:
    """The state that a checkpoint holds, once its checksums have been found right.

    Raises:
        CheckpointError: If it is not as it was written; names the file and says what is wrong.
    """
    contents = _unseal(path / STATE)
    tensors = _read_tensors(path / TENSORS, contents["tensors"])
    try:
        return unpack(tensors, contents["state"])
    except CheckpointError as error:
        raise CheckpointError(f"{path / STATE}: {error}") from None


def latest_state(folder: Path, *, fall_back: bool = False) -> tuple[int, Tree] | None:
    """Step and state of the newest checkpoint, or None if there is no checkpoint.

    Args:
        folder: Where the run's checkpoints are.
        fall_back: Whether the newest good checkpoint will do where newer ones are damaged.

    Raises:
        CheckpointError: If the newest is damaged and `fall_back` is not set, or all are.
    """
    paths = list_checkpoints(folder)
    if not paths:
        return None
    try:
        return _step(paths[-1]), load_checkpoint(paths[-1])
    except CheckpointError as error:
        good = _newest_good(paths[:-1])
        if good is None:
            raise CheckpointError(f"{error}; no checkpoint before it is good: start a new run") from None
        if not fall_back:
            hint = f"the one before, {good[0].name}, is good: use it with --fall-back"
            raise CheckpointError(f"{error}; {hint}") from None
        _log.warning("%s; going back to %s", error, good[0].name)
        return _step(good[0]), good[1]


def _newest_good(paths: Sequence[Path]) -> tuple[Path, Tree] | None:
    for path in reversed(paths):
        try:
            return path, load_checkpoint(path)
        except CheckpointError as error:
            _log.warning("%s", error)
    return None


def _step(path: Path) -> int:
    return int(path.name.removesuffix(atomic.OLD).removeprefix("step-"))


def _remove_leftovers(folder: Path) -> None:
    atomic.remove_leftovers(folder)
    listed = set(list_checkpoints(folder))
    for path in folder.glob(f"step-*{atomic.OLD}"):
        if path not in listed:  # what replaced it is there
            atomic.discard(path)


def _prune(folder: Path, step: int, keep: int) -> None:
    paths = list_checkpoints(folder)
    later = [path for path in paths if _step(path) > step]
    for path in [*paths[: len(paths) - len(later)][:-keep], *later]:
        atomic.discard(path)


def _write(folder: Path, state: Tree) -> None:
    tensors, plain = pack(state)
    data = safetensors.torch.save(tensors)
    (folder / TENSORS).write_bytes(data)
    facts = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / STATE).write_text(_seal({"format": FORMAT, "tensors": facts, "state": plain}))


def _seal(contents: dict[str, JSON]) -> str:
    """JSON whose last entry is the checksum of the others; equal contents give the same text."""
    sha256 = hashlib.sha256(json.dumps(contents).encode()).hexdigest()
    return json.dumps({**contents, "sha256": sha256}, indent=1) + "\n"


def _unseal(path: Path) -> dict[str, JSON]:
    """What was sealed, if every byte of the file is as it was written."""
    try:
        text = _read(path).decode()
        contents = json.loads(text)
    except ValueError as error:  # from either
        raise CheckpointError(f"{path} is not JSON: cut off or overwritten ({error})") from None
    sealed = dict(contents) if isinstance(contents, dict) else {}
    sealed.pop("sha256", None)
    if _seal(sealed) != text:
        raise CheckpointError(f"{path} was changed after it was written: its checksum differs")
    if (form := sealed.get("format")) != FORMAT:
        raise CheckpointError(f"{path} has format {form}; this version of dartboard reads format {FORMAT}")
    return sealed


def _read_tensors(path: Path, facts: dict[str, JSON]) -> dict[str, Tensor]:
    data = _read(path)
    if len(data) < facts["bytes"]:
        raise CheckpointError(f"{path} is truncated: it has {len(data)} of {facts['bytes']} bytes")
    if hashlib.sha256(data).hexdigest() != facts["sha256"]:
        raise CheckpointError(f"{path} was changed after it was written: its checksum differs")
    return safetensors.torch.load(data)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing") from None
