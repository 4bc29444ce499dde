"""A guard against slow drift by exact counts, not times.

`tests/counts.json` has the operators that a search step of four methods dispatches, the bytes that a supernet
step allocates on the meta device, and the modules that quick commands import. A change of them is deliberate:
run `python tests/test_counts.py` to write the file anew, and say in the commit why.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

FILE = Path(__file__).with_name("counts.json")
METHODS = ("darts", "gaea-darts-erm", "xnas", "asm")
SPACES = ("nano", "nb201", "darts")
COMMANDS = {"--help": ["--help"], "list": ["list", "methods"], "runs": ["runs"]}
HEAVY = ("matplotlib", "numpy", "pydantic", "rich", "scipy", "torch", "yaml")


class Counter(TorchDispatchMode):
    """Counts dispatched operators, and the bytes of new storages."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.operators += 1
        inputs, outputs = storages((args, kwargs)), storages(result)
        self.bytes += sum(size for key, size in outputs.items() if key not in inputs)
        return result


def storages(values: Any) -> dict[int, int]:
    """Sizes of the storages of all tensors among nested values, by identity."""
    tensors = [value for value in tree_leaves(values) if isinstance(value, Tensor)]
    return {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in tensors}


def count_operators(method: str) -> int:
    """Operators of one warm search step on nano."""
    from helpers.search_cases import search

    searcher = search(method)
    searcher._start_epoch()
    searcher.train_step()
    with Counter() as counter:
        searcher.train_step()
    return counter.operators


def count_bytes(space: str) -> int:
    """Bytes that forward and backward of a supernet allocate, on the meta device."""
    from dartboard.nn import CellNet, NetConfig, uniform
    from dartboard.space import get_space

    chosen = get_space(space)
    with torch.device("meta"):
        net = CellNet(chosen, NetConfig(channels=16, classes=10, input=(3, 32, 32), search=True))
        images, labels = torch.empty(16, 3, 32, 32), torch.zeros(16, dtype=torch.long)
        with Counter() as counter:
            F.cross_entropy(net(images, uniform(chosen)), labels).backward()
    return counter.bytes


def count_modules(command: str) -> dict[str, Any]:
    """Modules of dartboard that a command imports, and which large packages."""
    script = (
        "import contextlib, io, json, sys\n"
        "from dartboard.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    main({COMMANDS[command]!r})\n"
        "own = sum(name.partition('.')[0] == 'dartboard' for name in sys.modules)\n"
        f"print(json.dumps([own, [name for name in {HEAVY!r} if name in sys.modules]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules, packages = json.loads(done.stdout.splitlines()[-1])
    return {"modules": modules, "packages": packages}


GROUPS: dict[str, tuple[Callable[[str], Any], tuple[str, ...]]] = {
    "operators of a search step on nano": (count_operators, METHODS),
    "bytes that a supernet step allocates": (count_bytes, SPACES),
    "imports of a command": (count_modules, tuple(COMMANDS)),
}
CASES = [(group, name) for group, (_, names) in GROUPS.items() for name in names]


@pytest.mark.parametrize(("group", "name"), CASES)
def test_counts_are_those_in_the_file(group: str, name: str) -> None:
    listed = json.loads(FILE.read_text())
    if listed["torch"] != torch.__version__.partition("+")[0]:
        pytest.skip(f"the counts are of torch {listed['torch']}")
    measured = GROUPS[group][0](name)
    assert measured == listed[group][name], "if the change is deliberate: python tests/test_counts.py"


if __name__ == "__main__":
    sys.path.insert(0, str(FILE.parent))
    counts: dict[str, Any] = {"torch": torch.__version__.partition("+")[0]}
    counts |= {group: {name: count(name) for name in names} for group, (count, names) in GROUPS.items()}
    FILE.write_text(json.dumps(counts, indent=2) + "\n")
