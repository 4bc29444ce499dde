"""Python: one readable file that needs nothing but torch, and its weights next to it."""

import importlib.util
import keyword
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import torch
from safetensors.torch import save
from torch import Tensor

from dartboard.errors import ModelError, UnsafeFileError, one_line
from dartboard.export.formats import (
    FORMATS,
    KEYS,
    ExportRequest,
    Format,
    LoadedNetwork,
    Metadata,
    plain_network,
)
from dartboard.export.python_source import exported_edges, is_adapted, op_on_edge, write_source
from dartboard.nn.cell import CellModule
from dartboard.nn.network import CellNet
from dartboard.nn.ops import source_of
from dartboard.utils.safe_files import SourceLoader

WEIGHTS = ".safetensors"
RESERVED = ("torch", "timm", "numpy", "PIL")
"""Modules that an exported file, or what it imports, may need."""


def pack(request: ExportRequest) -> dict[str, bytes]:
    """The model as a Python file and a file of weights."""
    check_module_name(request.name)
    return {WEIGHTS: pack_weights(request), ".py": write_source(request.model, request.name).encode()}


def pack_weights(request: ExportRequest) -> bytes:
    """The weights under the names of the exported file."""
    return save(exported_weights(plain_network(request.model)))


def check_module_name(name: str) -> None:
    """Raise unless a file of this name can be imported and hides no other module."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ModelError(
            f"a Python file called {name!r} cannot be imported; use letters, digits and _, a letter first"
        )
    if name in sys.stdlib_module_names or name in RESERVED:
        raise ModelError(f"a Python file called {name!r} would hide the module {name}; choose another name")


def exported_weights(net: CellNet) -> dict[str, Tensor]:
    """Parameters and buffers under the names of an exported file; every batch-norm has scale and shift."""
    names, weights = exported_names(net), dict[str, Tensor]()
    for name, value in net.state_dict().items():
        if name in names:
            weights[names[name]] = value.detach().cpu().contiguous()
    for name, value in list(weights.items()):
        if name.endswith("running_mean"):
            weights.setdefault(name.replace("running_mean", "weight"), torch.ones_like(value))
            weights.setdefault(name.replace("running_mean", "bias"), torch.zeros_like(value))
    return weights


def exported_names(net: CellNet) -> dict[str, str]:
    """By name in the network, the names that its parameters and buffers have in an exported file."""
    renames = dict(_renamed_prefixes(net))
    names = {}
    for name in net.state_dict():
        parts = name.split(".")
        prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))  # the longest first
        prefix = next((prefix for prefix in prefixes if prefix in renames), None)
        if prefix is not None:
            names[name] = renames[prefix] + name.removeprefix(prefix)
    return names


def _renamed_prefixes(net: CellNet) -> Iterator[tuple[str, str]]:
    """Prefixes of names in the network, and what replaces them."""
    if len(net.stem.stages) == 1:
        yield from (("stem.stages.0.0", "stem.conv"), ("stem.stages.0.1", "stem.norm"))
    else:
        yield from (("stem.stages.0", "stem.first"), ("stem.stages.1", "stem.second"))
    for index, module in enumerate(net.slots):
        slot, block = f"slots.{index}", f"blocks.{index}"
        yield slot, block
        if isinstance(module, CellModule):
            cell = f"{block}.cell" if is_adapted(module.cell) else block
            for number, edge in enumerate(exported_edges(module.cell)):
                if edge.index is not None:
                    old, new = f"{slot}.edges.{edge.index}.{edge.op}", f"{cell}.ops.{number}"
                    yield old, new
                    source = source_of(op_on_edge(module, edge.index))
                    renames = {} if source is None else source.renames
                    yield from ((f"{old}.{part}", f"{new}.{renamed}") for part, renamed in renames.items())
    yield from (("head.norm", "norm.0"), ("head.linear", "head"))


def load(path: Path, device: torch.device) -> LoadedNetwork:
    """Run an exported file and build its network.

    Raises:
        ModelError: If it is none.
    """
    module = run_file(path)
    metadata = module_metadata(module)
    try:
        net = module.build().to(device)
    except (OSError, KeyError, ValueError, RuntimeError, AttributeError) as error:
        reason = one_line(error)
        raise ModelError(f"{path}: its network cannot be built ({reason})") from None
    return LoadedNetwork(net, metadata)


def module_metadata(module: ModuleType) -> Metadata:
    """The metadata in the constants of an exported file."""
    return Metadata.from_dict({key: getattr(module, key.upper(), None) for key in KEYS})


def run_file(path: Path) -> ModuleType:
    """The module in a file; it is not left in `sys.modules`."""
    loader = SourceLoader(path.stem, str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    assert spec is not None  # noqa: S101  # there is a loader
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        with warnings.catch_warnings():
            # of timm, where a file is run again
            warnings.filterwarnings("ignore", "Overwriting .* in registry")
            loader.exec_module(module)
    except UnsafeFileError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  other people's code can fail in any way
        reason = one_line(error)
        raise ModelError(f"{path}: cannot be run ({type(error).__name__}: {reason})") from None
    finally:
        del sys.modules[path.stem]
        if before is not None:
            sys.modules[path.stem] = before
    return module


FORMATS.register("python")(Format(".py", "one Python file that needs only torch", pack, load, (WEIGHTS,)))
