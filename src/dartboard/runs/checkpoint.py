"""Checkpoints: directories with the tensors of a state, its other values, and checksums of both.

    checkpoints/step-0000000123/tensors.safetensors   the tensors of the state
    checkpoints/step-0000000123/state.json            everything else, and the checksums

In the JSON plain values stand for themselves; other values are an object with one key that begins with `$`:

    {"$tensor": "/model/stem.weight"}   a tensor, under this name
    {"$tuple": [...]}                   a tuple
    {"$float": "nan"}                   a float that is not finite
    {"$dict": {"0": ..., "\\"a\\"": ...}}   a dict with integers or `$` in its keys, which are encoded as JSON
"""

import hashlib
import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import safetensors.torch
import torch
from torch import Tensor

from dartboard.errors import CheckpointError, RunError
from dartboard.runs.checkpoint_files import (
    FORMAT,
    JSON,
    STATE,
    TENSORS,
    list_checkpoints,
    read_verified,
    seal_state,
    step_of,
)
from dartboard.utils import atomic
from dartboard.utils.safe_files import check_folder

Tree: TypeAlias = Any
"""Dicts (with str or int keys), lists and tuples of str, int, float, bool, None and tensors.

Not spelled out for the type checker: code that reads a tree knows what it contains, and would need a cast at
every key. `pack` refuses everything else.
"""

STORABLE = frozenset(
    {
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.bool),
        *(torch.int64, torch.int32, torch.int16, torch.int8),
        *(torch.uint64, torch.uint32, torch.uint16, torch.uint8),
        *(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz),
    }
)
"""Types of tensors that the safetensors format supports."""

_log = logging.getLogger(__name__)


def save_checkpoint(folder: Path, step: int, state: Tree, *, keep: int = 2) -> Path:
    """Writes a checkpoint and returns its directory.

    Once it is in place, checkpoints before the newest `keep` are removed, and so are those of later
    steps: the run was rewound before them. One of the same step is replaced.

    Args:
        folder: Directory of the run's checkpoints; no other process may be writing there.
        step: Number of steps done.
        state: State to save.
        keep: Number of checkpoints to keep, this one included.
    """
    if step < 0 or keep < 1:
        raise RunError(f"a checkpoint is of step 0 or later and at least 1 is kept; got {step=}, {keep=}")
    check_folder(folder, folder.parent)
    folder.mkdir(parents=True, exist_ok=True)
    atomic.remove_leftovers(folder)
    listed = list_checkpoints(folder)
    for replaced in folder.glob(f"step-*{atomic.OLD}"):
        if replaced not in listed:
            atomic.discard(replaced)
    path = folder / f"step-{step:010d}"
    with atomic.atomic_directory(path) as temporary:
        tensors, plain = pack(state)
        data = safetensors.torch.save(tensors)
        (temporary / TENSORS).write_bytes(data)
        checksum = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        (temporary / STATE).write_text(seal_state({"format": FORMAT, "tensors": checksum, "state": plain}))
    paths = list_checkpoints(folder)
    later = [path for path in paths if step_of(path) > step]
    for outdated in [*paths[: len(paths) - len(later)][:-keep], *later]:
        atomic.discard(outdated)
    return path


def load_checkpoint(path: Path) -> Tree:
    """The state in a checkpoint, after its checksums were verified.

    Raises:
        CheckpointError: If it is not as it was written; names the file and says what is wrong.
    """
    contents, data = read_verified(path)
    try:
        return unpack(safetensors.torch.load(data), contents["state"])
    except CheckpointError as error:
        raise CheckpointError(f"{path / STATE}: {error}") from None


def latest_state(folder: Path, *, fall_back: bool = False) -> tuple[int, Tree] | None:
    """Step and state of the newest checkpoint in a folder, or None if there is no checkpoint.

    With `fall_back` it is the newest intact one if newer ones are damaged.

    Raises:
        CheckpointError: If the newest is damaged and `fall_back` is not set, or all are.
    """
    paths = list_checkpoints(folder)
    if not paths:
        return None
    try:
        return step_of(paths[-1]), load_checkpoint(paths[-1])
    except CheckpointError as error:
        damage = error
    for path in reversed(paths[:-1]):
        try:
            state = load_checkpoint(path)
        except CheckpointError as error:
            _log.warning("%s", error)
            continue
        if not fall_back:
            hint = f"the one before, {path.name}, is good: use it with --fall-back"
            raise CheckpointError(f"{damage}; {hint}")
        _log.warning("%s; going back to %s", damage, path.name)
        return step_of(path), state
    raise CheckpointError(f"{damage}; no checkpoint before it is good: start a new run")


def pack(tree: Tree) -> tuple[dict[str, Tensor], JSON]:
    """Named tensors and JSON that together represent the tree.

    The tensors are contiguous copies on the CPU that share nothing with the tree or each other.

    Raises:
        RunError: If the tree contains other types than `Tree` lists, or a tensor of a type not in `STORABLE`.
    """
    tensors: dict[str, Tensor] = {}
    plain = _encode(tree, "", tensors)
    return {name: _copy(tensor) for name, tensor in tensors.items()}, plain


def unpack(tensors: Mapping[str, Tensor], plain: JSON) -> Tree:
    """The tree that `pack` was called with; parameters become tensors, subclasses of dict become dict.

    Raises:
        CheckpointError: If a tensor is missing, or the JSON has a form that `pack` does not write.
    """
    if isinstance(plain, list):
        return [unpack(tensors, item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if not any(key.startswith("$") for key in plain):
        return {key: unpack(tensors, item) for key, item in plain.items()}
    match plain:
        case {"$tensor": str(name)} if name in tensors:
            return tensors[name]
        case {"$tensor": name}:
            raise CheckpointError(f"there is no tensor called {name!r}")
        case {"$float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"$tuple": list(items)}:
            return tuple(unpack(tensors, item) for item in items)
        case {"$dict": dict(items)}:
            return {json.loads(key): unpack(tensors, item) for key, item in items.items()}
    raise CheckpointError(f"expected $tensor, $float, $tuple or $dict, got {', '.join(plain)}")


def to_bytes(tree: Tree) -> bytes:
    """The tree as bytes for another process: the length of its JSON in 8 bytes, the JSON, and safetensors.

    Raises:
        RunError: As `pack`.
    """
    tensors, plain = pack(tree)
    text = json.dumps(plain).encode()
    return len(text).to_bytes(8, "little") + text + safetensors.torch.save(tensors)


def from_bytes(data: bytes) -> Tree:
    """The tree that `to_bytes` was called with."""
    end = 8 + int.from_bytes(data[:8], "little")
    return unpack(safetensors.torch.load(data[end:]), json.loads(data[8:end]))


def digest(tree: Tree) -> str:
    """SHA-256 of a tree in hexadecimal: of every plain value, and of every tensor's name, type and bits.

    The order of a dict's keys does not matter; types do, so that 1, 1.0 and True differ.

    Raises:
        RunError: As `pack`.
    """
    tensors: dict[str, Tensor] = {}
    plain = _encode(tree, "", tensors)
    sha = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        sha.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        sha.update(_copy(tensor).reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


def _copy(tensor: Tensor) -> Tensor:
    """A copy on the CPU, contiguous down to the strides of single elements, with its values in memory."""
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _encode(tree: Tree, name: str, tensors: dict[str, Tensor]) -> JSON:
    """The JSON of a tree; its tensors are added to `tensors` under names that begin with `name`."""
    if isinstance(tree, Tensor):
        if tree.layout != torch.strided or tree.is_meta:
            raise RunError(f"{_describe(name)} is a sparse or meta tensor; store a dense one")
        if tree.dtype not in STORABLE:
            raise RunError(f"{_describe(name)} is a tensor of type {tree.dtype}, which cannot be stored")
        tensors[name] = tree
        return {"$tensor": name}
    if isinstance(tree, dict):
        for key in tree:
            if type(key) not in (str, int):
                raise RunError(f"{_describe(name)} has the key {key!r}; the keys of state are str or int")
        values = {key: _encode(item, name + _path_part(key), tensors) for key, item in tree.items()}
        if all(type(key) is str and not key.startswith("$") for key in values):
            return values
        return {"$dict": {json.dumps(key): item for key, item in values.items()}}
    if type(tree) in (list, tuple):
        items = [_encode(item, name + _path_part(index), tensors) for index, item in enumerate(tree)]
        return items if type(tree) is list else {"$tuple": items}
    if type(tree) is float and not math.isfinite(tree):
        return {"$float": repr(tree)}
    if tree is None or type(tree) in (str, int, float, bool):
        return tree
    raise RunError(
        f"{_describe(name)} is a {type(tree).__name__}, which cannot be stored; "
        "state is made of dict, list, tuple, str, int, float, bool, None and tensors"
    )


def _path_part(key: str | int) -> str:
    """A key as part of a tensor's name; different keys give different names."""
    if isinstance(key, int):
        return f"/[{key}]"
    text = json.dumps(key)[1:-1]
    return "/" + text.replace("~", "~0").replace("/", "~1").replace("[", "~2")


def _describe(name: str) -> str:
    return f"the state at {name}" if name else "the state"
