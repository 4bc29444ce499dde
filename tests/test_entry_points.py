"""Installed packages that extend dartboard: folders on the path, with the metadata that pip would write."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dartboard.cli.main import main
from dartboard.errors import UnknownNameError
from dartboard.plugins import entry_points, installed_packages
from dartboard.registry import Registry
from dartboard.runs import describe_environment

Install = Callable[..., Path]
COMMAND = '''
"""Say hello. To everybody."""

def configure(parser):
    parser.add_argument("name")

def run(args):
    print("hello", args.name)
    return 3
'''
METHOD = '''
from dartboard.relax import RELAXATIONS
from dartboard.search import METHODS, DrawOne, Method


@METHODS.register("packaged")
def packaged() -> Method:
    """Any architecture."""
    return Method(RELAXATIONS["random"], select=DrawOne(), trains=False)
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package of one module, for this process and those that it starts."""

    def add(package: str, source: str, groups: dict[str, dict[str, str]], version: str = "1.0") -> Path:
        folder = tmp_path / f"installed-{package}"
        metadata = folder / f"{package}-{version}.dist-info"
        metadata.mkdir(parents=True)
        (folder / f"{package}.py").write_text(source)
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\nSummary: 100 % mine\n"
        )
        lines = []
        for group, entries in groups.items():
            lines += [f"[dartboard.{group}]", *(f"{name} = {value}" for name, value in entries.items())]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
        return folder

    return add


def fruits() -> Registry[object]:
    registry: Registry[object] = Registry("fruit", "dartboard.fruits")
    registry.register("pear")("built in")
    return registry


def run_program(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dartboard", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_value_of_a_package_is_found_by_its_name(install: Install) -> None:
    install("orchard_a", "def plum():\n    return 7\n", {"fruits": {"plum": "orchard_a:plum"}}, "2.5")
    registry = fruits()
    assert registry["pear"] == "built in"
    assert "orchard_a" not in sys.modules  # nothing is imported for a name that is built in
    plum = registry["plum"]
    assert callable(plum)
    assert plum() == 7
    assert list(registry) == ["pear", "plum"]
    assert len(registry) == 2
    origin = registry.origin("plum")
    assert (origin.module, origin.qualname, origin.package, origin.version) == (
        "orchard_a",
        "plum",
        "orchard_a",
        "2.5",
    )


def test_iteration_imports_packages(install: Install) -> None:
    install("orchard_b", "plum = 7\n", {"fruits": {"plum": "orchard_b:plum"}})
    assert dict(fruits()) == {"pear": "built in", "plum": 7}


def test_names_of_packages_are_among_the_hints(install: Install) -> None:
    install("orchard_c", "plum = 7\n", {"fruits": {"plum": "orchard_c:plum"}})
    with pytest.raises(UnknownNameError, match="no fruit called 'plumm'; did you mean 'plum'"):
        fruits()["plumm"]
    assert "orchard_c" not in sys.modules


def test_a_module_that_registers_by_decorator(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = fruits()
    monkeypatch.setattr(sys.modules[__name__], "REGISTRY", registry, raising=False)
    source = f"import sys\nsys.modules[{__name__!r}].REGISTRY.register('plum')(7)\n"
    entries = {"plum": "orchard_d", "quince": "orchard_d"}
    install("orchard_d", source, {"fruits": entries})
    assert registry["plum"] == 7
    with pytest.raises(UnknownNameError):  # the module does not register it
        registry["quince"]


def test_a_package_that_fails_costs_one_warning(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    entries = {"plum": "orchard_e:plum", "quince": "orchard_e:quince"}
    install("orchard_e", "import nowhere_to_be_found\n", {"fruits": entries})
    registry = fruits()
    assert list(registry) == ["pear"]
    reason = "ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    [record] = caplog.records
    assert record.getMessage() == f"package orchard_e 1.0: cannot load orchard_e: {reason}"
    with pytest.raises(UnknownNameError):
        registry["plum"]
    assert len(caplog.records) == 1


def test_a_built_in_keeps_its_name(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("orchard_f", "pear = 7\n", {"fruits": {"pear": "orchard_f:pear"}})
    registry = fruits()
    assert dict(registry) == {"pear": "built in"}
    [record] = caplog.records
    assert record.getMessage().startswith("package orchard_f 1.0: fruit 'pear' is ignored: ")
    assert record.getMessage().endswith(" has that name")


def test_of_two_packages_the_first_keeps_a_name(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("orchard_g", "plum = 1\n", {"fruits": {"plum": "orchard_g:plum"}})
    install("orchard_h", "plum = 2\n", {"fruits": {"plum": "orchard_h:plum"}})  # first on the path
    assert fruits()["plum"] == 2
    [record] = caplog.records
    message = (
        "package orchard_g 1.0: 'plum' (dartboard.fruits) is ignored: package orchard_h 1.0 has that name"
    )
    assert record.getMessage() == f"{message} already"


def test_a_value_that_names_nothing(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("orchard_k", "plum = 1\n", {"fruits": {"plum": "orchard_k:absent", "fig": "???", "pear": ":x"}})
    assert dict(fruits()) == {"pear": "built in"}
    assert all(record.getMessage().startswith("package orchard_k 1.0: ") for record in caplog.records)
    assert len(caplog.records) == 3


def test_damaged_metadata_is_skipped(install: Install) -> None:
    folder = install("orchard_i", "", {"fruits": {"plum": "orchard_i:plum"}})
    [path] = folder.glob("*.dist-info/entry_points.txt")
    path.write_text("nonsense\n[dartboard.fruits]\nplum")
    assert entry_points("dartboard.fruits") == {}


def test_runs_record_the_packages(install: Install) -> None:
    install("orchard_j", "", {"fruits": {"plum": "orchard_j:plum"}}, "3.1")
    assert installed_packages()["orchard_j"] == "3.1"
    assert describe_environment()["plugins"]["orchard_j"] == "3.1"
    assert "orchard_j" not in sys.modules


@pytest.mark.parametrize(("name", "words"), [("hello", ["hello"]), ("analyse.hello", ["analyse", "hello"])])
def test_a_command_of_a_package(
    name: str, words: list[str], install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    module = f"greeter_{name.replace('.', '_')}"
    install(module, COMMAND, {"commands": {name: module}})
    assert main([*words[:-1], "--help"]) == 0
    assert f"100 % mine (package {module} 1.0)" in " ".join(capsys.readouterr().out.split())
    assert module not in sys.modules  # the list of commands needs the metadata alone
    assert main([*words, "world"]) == 3
    assert capsys.readouterr() == ("hello world\n", "")
    assert main([*words, "--help"]) == 0
    assert "Say hello. To everybody." in capsys.readouterr().out
    assert main([*words]) == 2
    assert "required: name; see dartboard" in capsys.readouterr().err


def test_a_command_below_runs_is_no_directory(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("greeter_runs", COMMAND, {"commands": {"runs.hello": "greeter_runs"}})
    assert main(["runs", "hello", "world"]) == 3
    assert capsys.readouterr().out == "hello world\n"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import nowhere_to_be_found",
            "cannot load {0}: ModuleNotFoundError: No module named 'nowhere_to_be_found'",
        ),
        ("raise SystemExit(5)", "cannot load {0}: SystemExit: 5"),
        ("run = print", "{0} is not a command; it needs configure(parser) and run(args)"),
    ],
)
def test_a_command_that_fails_is_one_line(
    source: str, reason: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    module = f"broken_{len(source)}"
    install(module, source, {"commands": {"hello": module}})
    assert main(["--help"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["hello", "world"]) == 2
    assert capsys.readouterr().err == f"dartboard: error: package {module} 1.0: {reason.format(module)}\n"


def test_commands_that_are_taken_or_have_no_parent(install: Install) -> None:
    entries = {"info": "thief", "analyse.topology": "thief", "nowhere.hello": "thief"}
    install("thief", COMMAND, {"commands": entries})
    assert run_program("info", "--help").stdout.startswith("usage: dartboard info")
    done = run_program("analyse", "topology", "--help")
    assert done.stdout.startswith("usage: dartboard analyse topology")
    assert sorted(done.stderr.splitlines()) == [
        "package thief 1.0: command 'analyse.topology' is ignored: dartboard has a command of that name",
        "package thief 1.0: command 'info' is ignored: dartboard has a command of that name",
        "package thief 1.0: command 'nowhere.hello' is ignored: commands cannot be added to 'nowhere'",
    ]


def test_a_search_with_the_method_of_a_package(install: Install, tmp_path: Path) -> None:
    install(
        "methodical", METHOD, {"methods": {"packaged": "methodical:packaged", "bad": "methodical:absent"}}
    )
    listed = run_program("list", "methods")
    assert "packaged" in listed.stdout
    assert [line.split(": AttributeError")[0] for line in listed.stderr.splitlines()] == [
        "package methodical 1.0: cannot load methodical:absent"
    ]
    out = tmp_path / "run"
    done = run_program("search", "--space", "nano", "--method", "packaged", "--out", str(out))
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    [start] = json.loads((out / "environment.json").read_text())
    assert start["plugins"]["methodical"] == "1.0"


def test_help_imports_neither_torch_nor_a_package(install: Install) -> None:
    install("heavy", "import torch\n" + COMMAND, {"commands": {"hello": "heavy"}})
    code = "import sys; from dartboard.cli.main import main; main(['--help']); "
    code += "print({'torch', 'heavy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.parametrize("words", [["reproduce", "xnas-figure-3"], ["analyse", "theory", "experts"]])
def test_commands_of_the_papers_without_their_package(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dartboard.cli.commands.entry_points", lambda _: {})
    assert main(["--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "reproduce Redo figures and tables of the papers (not installed; pip install dartboard-papers)" in out
    )
    assert main(words) == 2
    name = " ".join(words[:-1])
    assert capsys.readouterr().err == (
        f"dartboard: error: {name} is a command of the package dartboard-papers, which is not installed; "
        "pip install dartboard-papers (in a source tree: pip install ./papers)\n"
    )
