"""Imports point one way: a folder of the package knows only the folders below it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import dartboard

PACKAGE = "dartboard"
ROOT = Path(dartboard.__file__).parent
PAPERS = Path(__file__).parents[1] / "papers" / "src" / "dartboard_papers"

# What each folder stands on; what those stand on is allowed as well.
STANDS_ON: dict[str, tuple[str, ...]] = {
    "utils": (),
    "space": ("utils",),
    "tables": ("space",),
    "viz": ("space",),
    "distributed": ("utils",),
    "data": ("distributed",),
    "nn": ("space", "distributed"),
    "relax": ("nn",),
    "tasks": ("distributed",),
    "arch": ("relax", "tasks"),
    "runs": ("space", "distributed"),
    "config": ("data", "runs"),
    "engine": ("arch", "config"),
    "search": ("engine", "tables"),
    "train": ("search", "export"),
    "jobs": ("train",),
    "sweep": ("jobs",),
    "scoreboard": ("jobs", "viz"),
    "analysis": ("jobs", "viz"),
    "export": ("nn", "runs"),
    "report": ("analysis", "scoreboard"),
    "integrations": ("train", "viz"),
    "diagnostics": ("train",),
    "cli": ("diagnostics", "export", "integrations", "report", "sweep"),
    "__main__": ("cli",),
}
# Parts beside the order: every folder may use them, and they use only each other.
COMMON = ("errors", "plugins", "registry")


@dataclass(frozen=True)
class Arrow:
    """An import of one part of the package by another."""

    place: str
    part: str
    target: str

    def __str__(self) -> str:
        return f"{self.place}: {self.part or PACKAGE} imports {self.target}"


def below(part: str) -> set[str]:
    """All parts that `part` may import, itself included.

    The root `__init__` has only the common modules when it is imported; its names import any package later.
    """
    if part in COMMON or not part:
        return set(COMMON)
    found = {part, *COMMON}
    for lower in STANDS_ON.get(part, ()):
        found |= below(lower)
    return found


def imported_names(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names that a syntax node imports, relative ones resolved against `package`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        base = ".".join((*above, *([node.module] if node.module else [])))
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant))


def deferred(tree: ast.Module) -> set[ast.AST]:
    """Nodes that are not run when a module is imported: in functions, or for type checkers alone."""
    later = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return {inner for node in later for inner in ast.walk(node)}


def imports(root: Path) -> Iterator[tuple[str, str, str]]:
    """Place, part and imported dotted name of every import under `root`.

    Those in functions count too, but not in the root `__init__`.
    """
    for path in sorted(root.rglob("*.py")):
        local = path.relative_to(root)
        part = local.parts[0].removesuffix(".py").replace("__init__", "")
        package = (PACKAGE, *local.parts[:-1])
        tree = ast.parse(path.read_text())
        skipped = set() if part else deferred(tree)
        for node in ast.walk(tree):
            if node in skipped:
                continue
            for name in imported_names(node, package):
                yield f"{local}:{getattr(node, 'lineno', 0)}", part, name


def arrows(root: Path) -> Iterator[Arrow]:
    """Every import of one part of the package under `root` by another; `dartboard.__version__` is no part."""
    parts = {path.stem for path in root.iterdir() if path.is_dir() or path.suffix == ".py"}
    for place, part, name in imports(root):
        package, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if package == PACKAGE and target in parts and target != "__init__":
            yield Arrow(place, part, target)


def wrong_arrows(root: Path) -> list[str]:
    """The arrows under `root` that point the wrong way, readable."""
    return [str(arrow) for arrow in arrows(root) if arrow.target not in below(arrow.part)]


def unplaced(root: Path) -> set[str]:
    """Modules and folders under `root` that the order does not mention."""
    found = {path.parent if path.parent != root else path for path in root.rglob("*.py")}
    parts = {path.relative_to(root).parts[0].removesuffix(".py") for path in found}
    return parts - {*STANDS_ON, *COMMON, "__init__"}


def test_imports_point_one_way() -> None:
    assert wrong_arrows(ROOT) == []


def test_every_folder_has_its_place_in_the_order() -> None:
    assert unplaced(ROOT) == set()


def test_spaces_and_plots_do_not_need_torch() -> None:
    users = [
        place for place, part, name in imports(ROOT) if part in ("space", "viz") and name.startswith("torch")
    ]
    assert users == []


def test_the_papers_package_imports_public_names_only() -> None:
    names = [(place, name) for place, _, name in imports(PAPERS) if name.startswith(f"{PACKAGE}.")]
    assert names
    private = [name for name in names if any(part.startswith("_") for part in name[1].split("."))]
    assert [name for name in private if name[1] != f"{PACKAGE}.__version__"] == []


def plant(root: Path, module: str, text: str) -> Path:
    for name in ("space", "nn", "relax", "cli", "errors.py", "registry.py"):
        path = root / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch() if name.endswith(".py") else path.mkdir(exist_ok=True)
    (root / module).write_text(text)
    return root


@pytest.mark.parametrize(
    ("module", "text", "arrow"),
    [
        ("space/a.py", "from dartboard.nn import CellNet\n", "space imports nn"),
        ("space/a.py", "def build():\n    import dartboard.nn.ops\n", "space imports nn"),
        ("space/a.py", "from dartboard import nn\n", "space imports nn"),
        ("space/a.py", "from ..nn import ops\n", "space imports nn"),
        ("nn/__init__.py", "from ..relax.mixture import Mixture\n", "nn imports relax"),
        ("nn/a.py", "import importlib\nimportlib.import_module('dartboard.cli')\n", "nn imports cli"),
        ("errors.py", "import dartboard.space\n", "errors imports space"),
        ("__init__.py", "from dartboard.space import Cell\n", "dartboard imports space"),
    ],
)
def test_a_wrong_arrow_is_found(tmp_path: Path, module: str, text: str, arrow: str) -> None:
    (wrong,) = wrong_arrows(plant(tmp_path / PACKAGE, module, text))
    assert wrong.startswith(module)
    assert wrong.endswith(arrow)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("nn/a.py", "from dartboard.space import Cell\nfrom dartboard import errors, __version__\n"),
        ("nn/a.py", "from . import b\nfrom .b import c\nimport torch.nn\n"),
        ("cli/a.py", "from dartboard.space.spec import Cell\nfrom dartboard.relax import x\n"),
        ("registry.py", "from dartboard.errors import DartboardError\n"),
        ("__init__.py", "if TYPE_CHECKING:\n    from dartboard.space import Cell\n"),
        ("__init__.py", "def __getattr__(name):\n    import dartboard.nn\n"),
    ],
)
def test_a_right_arrow_passes(tmp_path: Path, module: str, text: str) -> None:
    assert wrong_arrows(plant(tmp_path / PACKAGE, module, text)) == []


def test_a_folder_outside_the_order_is_found(tmp_path: Path) -> None:
    root = plant(tmp_path / PACKAGE, "space/a.py", "")
    (root / "misc").mkdir()
    (root / "misc" / "a.py").touch()
    assert unplaced(root) == {"misc"}
