"""Python: one readable file that needs nothing but torch, and its weights beside it."""

import importlib.util
import keyword
import sys
import warnings
from pathlib import Path
from types import ModuleType

import torch
from safetensors.torch import save
from torch import Tensor

from dartboard.errors import ModelError, one_line
from dartboard.export.about import read_module
from dartboard.export.base import FORMATS, Format, Opened, Order, plain
from dartboard.export.blueprint import weights
from dartboard.export.writing import write_network

WEIGHTS = ".safetensors"
TAKEN = ("torch", "timm", "numpy", "PIL")
"""Modules that a written file, or what it imports, may need."""


def pack(order: Order) -> dict[str, bytes]:
    """The model as a Python file and a file of weights."""
    check_name(order.name)
    return {WEIGHTS: pack_weights(order), ".py": write_network(order.model, order.name).encode()}


def pack_weights(order: Order) -> bytes:
    """The weights under the names of the written file."""
    return save(weights(plain(order.model)))


def check_name(name: str) -> None:
    """Raises unless a file of this name can be imported and hides nothing that others import."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ModelError(
            f"a Python file called {name!r} cannot be imported; use letters, digits and _, a letter first"
        )
    if name in sys.stdlib_module_names or name in TAKEN:
        raise ModelError(f"a Python file called {name!r} would hide the module {name}; choose another name")


def load(path: Path, device: torch.device) -> Opened:
    """Runs a written file and builds its network.

    Raises:
        ModelError: If it is none.
    """
    module = run_file(path)
    about = read_module(module)
    try:
        net = module.build().to(device)
    except (OSError, KeyError, ValueError, RuntimeError, AttributeError) as error:
        reason = one_line(error)
        raise ModelError(f"{path}: its network cannot be built ({reason})") from None

    def forward(images: Tensor) -> Tensor:
        logits: Tensor = net(images)
        return logits

    return Opened(forward, about)


def run_file(path: Path) -> ModuleType:
    """The module in a file; it is not left among the imported ones."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Overwriting .* in registry"
            )  # timm's, where a file is run again
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  somebody's code can fail in any way
        reason = one_line(error)
        raise ModelError(f"{path}: cannot be run ({type(error).__name__}: {reason})") from None
    finally:
        del sys.modules[path.stem]
        if before is not None:
            sys.modules[path.stem] = before
    return module


FORMATS.register("python")(Format(".py", "one Python file that needs only torch", pack, load, (WEIGHTS,)))
