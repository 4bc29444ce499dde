"""The public names of the package: lazy, documented, and with examples that run."""

import doctest
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import dartboard
from dartboard.data import DATASETS
from dartboard.export import FORMATS
from dartboard.jobs.executors import EXECUTORS
from dartboard.nn import OPS
from dartboard.registry import Registry
from dartboard.search import METHODS
from dartboard.space import SPACES
from dartboard.tables import TABLES

REGISTRIES: tuple[Registry, ...] = (DATASETS, EXECUTORS, FORMATS, METHODS, OPS, SPACES, TABLES)


@pytest.fixture
def unchanged_registries() -> Iterator[None]:
    """Removes what a test registers."""
    before = [(dict(registry._values), dict(registry._origins)) for registry in REGISTRIES]
    yield
    for registry, (values, origins) in zip(REGISTRIES, before, strict=True):
        registry._values, registry._origins = values, origins


def modules_after(script: str) -> set[str]:
    """Names of the modules that a new process has imported after running a script."""
    printed = subprocess.run(
        [sys.executable, "-c", f"{script}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return set(printed.split())


def test_the_package_imports_nothing_heavy() -> None:
    modules = modules_after("import dartboard\ndir(dartboard)")
    assert not {"torch", "numpy", "pydantic", "dartboard.errors"} & modules


def test_spaces_need_no_torch() -> None:
    modules = modules_after("import dartboard\ndartboard.get_space(dartboard.list_spaces()[0])")
    assert "torch" not in modules


def test_a_name_is_imported_when_it_is_used() -> None:
    assert "torch" in modules_after("from dartboard import Searcher")


def test_the_names_are_listed_once_each() -> None:
    listed = [name for names in dartboard._MODULES.values() for name in names]
    assert sorted(listed) == sorted(dartboard.__all__)
    assert {*dartboard.__all__, "__version__"} <= {*dir(dartboard)}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'dartboard' has no attribute 'Serch'"):
        dartboard.Serch  # noqa: B018


def test_editors_see_the_same_names() -> None:
    import ast

    tree = ast.parse(Path(dartboard.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.col_offset]
    seen = {node.module: sorted(alias.name for alias in node.names) for node in imports}
    assert seen == {module: sorted(names) for module, names in dartboard._MODULES.items()}


@pytest.mark.parametrize("name", ["", *dartboard.__all__])
@pytest.mark.usefixtures("unchanged_registries", "one_thread")
def test_the_example_of_a_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    value = getattr(dartboard, name) if name else dartboard
    parser = doctest.DocTestParser()
    example = parser.get_doctest(value.__doc__, {}, name or "dartboard", None, None)
    assert example.examples, f"{name} has no example"
    output: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=output.append)
    assert not output, "".join(output)
