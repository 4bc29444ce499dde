"""Nested state as named tensors plus JSON, and back, without loss.

In the JSON plain values stand for themselves; what JSON has no form for is an object with one key that
begins with `$`:

    {"$tensor": "/model/stem.weight"}   a tensor, under this name
    {"$tuple": [...]}                   a tuple
    {"$float": "nan"}                   a float that is not finite
    {"$dict": {"0": ..., "\\"a\\"": ...}}   a dict with whole numbers or `$` in its keys, which are JSON texts
"""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor

from dartboard.errors import CheckpointError, RunError

Tree: TypeAlias = Any
"""Dicts (with str or int keys), lists and tuples of str, int, float, bool, None and tensors.

Not spelled out for the type checker: who reads a tree knows what it holds and would have to say so at
every key. `pack` refuses everything else.
"""

JSON: TypeAlias = Any
"""What `json.dumps` takes, with str keys and finite floats only."""

STORABLE = frozenset(
    {
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.bool),
        *(torch.int64, torch.int32, torch.int16, torch.int8),
        *(torch.uint64, torch.uint32, torch.uint16, torch.uint8),
        *(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz),
    }
)
"""Types of tensors that the safetensors format knows."""


def pack(tree: Tree) -> tuple[dict[str, Tensor], JSON]:
    """Named tensors and JSON that together say the tree.

    The tensors are contiguous copies on the CPU that share nothing with the tree or each other.

    Raises:
        RunError: If the tree holds something else than `Tree` says, or a tensor of a type not `STORABLE`.
    """
    tensors, plain = _flatten(tree)
    return {name: _copy(tensor) for name, tensor in tensors.items()}, plain


def unpack(tensors: Mapping[str, Tensor], plain: JSON) -> Tree:
    """The tree that `pack` was given; parameters come back as tensors, kinds of dict as dict.

    Raises:
        CheckpointError: If a tensor is missing, or the JSON has a form that `pack` does not write.
    """
    if isinstance(plain, list):
        return [unpack(tensors, item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if any(key.startswith("$") for key in plain):
        return _unpack_form(tensors, plain)
    return {key: unpack(tensors, item) for key, item in plain.items()}


def digest(tree: Tree) -> str:
    """SHA-256 of a tree in hexadecimal: of every plain value, and of every tensor's name, type and bits.

    The order of a dict's keys does not matter; types do, so that 1, 1.0 and True differ.

    Raises:
        RunError: As `pack`.
    """
    tensors, plain = _flatten(tree)
    sha = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        sha.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        sha.update(_copy(tensor).reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


def _copy(tensor: Tensor) -> Tensor:
    """A copy on the CPU, contiguous down to the strides of single elements, with its values in memory."""
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _flatten(tree: Tree) -> tuple[dict[str, Tensor], JSON]:
    """As `pack`, with the tensors themselves."""
    tensors: dict[str, Tensor] = {}
    return tensors, _encode(tree, "", tensors)


def _encode(tree: Tree, name: str, tensors: dict[str, Tensor]) -> JSON:
    """The JSON of a tree; its tensors are added to `tensors` under names that begin with `name`."""
    if isinstance(tree, Tensor):
        tensors[name] = _storable(tree, name)
        return {"$tensor": name}
    if isinstance(tree, dict):
        return _encode_dict(tree, name, tensors)
    if type(tree) in (list, tuple):
        items = [_encode(item, name + _part(place), tensors) for place, item in enumerate(tree)]
        return items if type(tree) is list else {"$tuple": items}
    return _encode_plain(tree, name)


def _encode_dict(tree: dict[Any, Tree], name: str, tensors: dict[str, Tensor]) -> JSON:
    for key in tree:
        if type(key) not in (str, int):
            raise RunError(f"{_place(name)} has the key {key!r}; the keys of state are str or int")
    items = {key: _encode(item, name + _part(key), tensors) for key, item in tree.items()}
    if all(type(key) is str and not key.startswith("$") for key in items):
        return items
    return {"$dict": {json.dumps(key): item for key, item in items.items()}}


def _encode_plain(value: object, name: str) -> JSON:
    if type(value) is float and not math.isfinite(value):
        return {"$float": repr(value)}
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise RunError(
        f"{_place(name)} is a {type(value).__name__}, which cannot be stored; "
        "state is made of dict, list, tuple, str, int, float, bool, None and tensors"
    )


def _storable(tensor: Tensor, name: str) -> Tensor:
    if tensor.layout != torch.strided or tensor.is_meta:
        raise RunError(f"{_place(name)} is a sparse or meta tensor; store a dense one")
    if tensor.dtype not in STORABLE:
        raise RunError(f"{_place(name)} is a tensor of type {tensor.dtype}, which cannot be stored")
    return tensor


def _part(key: str | int) -> str:
    """A key as part of a tensor's name; no two keys of one tree come to the same name."""
    if isinstance(key, int):
        return f"/[{key}]"
    text = json.dumps(key)[1:-1]
    return "/" + text.replace("~", "~0").replace("/", "~1").replace("[", "~2")


def _place(name: str) -> str:
    return f"the state at {name}" if name else "the state"


def _unpack_form(tensors: Mapping[str, Tensor], plain: dict[str, JSON]) -> Tree:
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
