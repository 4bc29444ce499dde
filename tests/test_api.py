"""The public names of the package: lazy, documented, and with examples that run."""

import ast
import doctest
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch
from matplotlib.figure import Figure

import dartboard
from dartboard import (
    Searcher,
    SearchResult,
    Trainer,
    TrainResult,
    evaluate,
    export_model,
    get_space,
    load_dataset,
    load_run,
    make_method,
)
from dartboard.cli.main import main
from dartboard.data import DATASETS
from dartboard.errors import OptionError, RunError
from dartboard.export import FORMATS
from dartboard.jobs.executors import EXECUTORS
from dartboard.nn import OPS, load_model, one_hot
from dartboard.registry import RENDERERS, Registry, find_renderer
from dartboard.search import METHODS, SearchOptions
from dartboard.space import SPACES, Cell, Edge, Genotype, adopt, decode
from dartboard.tables import TABLES
from dartboard.train import TrainOptions

REGISTRIES: tuple[Registry, ...] = (DATASETS, EXECUTORS, FORMATS, METHODS, OPS, SPACES, TABLES)


@pytest.fixture
def unchanged_registries() -> Iterator[None]:
    """Removes what a test registers; what modules of the package register as they are imported stays."""
    before = [(dict(registry._values), dict(registry._origins)) for registry in REGISTRIES]
    yield
    for registry, (values, origins) in zip(REGISTRIES, before, strict=True):
        for name in set(registry._values) - set(values):
            module = str(getattr(registry._values[name], "__module__", None))
            if not module.startswith("dartboard"):
                del registry._values[name], registry._origins[name]
        registry._values |= values
        registry._origins |= origins


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
    tree = ast.parse(Path(dartboard.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.col_offset]
    seen = {node.module: sorted(alias.name for alias in node.names) for node in imports}
    del seen["importlib.metadata"]  # the version
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


QUICK = {"epochs": 1, "batch": 256, "net": {"channels": 2}, "weights": {"lr": 0.1}}
WORDS = ["epochs=1", "batch=256", "net.channels=2", "weights.lr=0.1"]
CELL = "|nor_conv_3x3~0|+|skip_connect~0|none~1|"
TRAINING = {"epochs": 1, "batch": 256, "net": {"channels": 2, "auxiliary": 0}}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    """A short search in a run directory."""
    folder = tmp_path_factory.mktemp("searched") / "run"
    return Searcher("nano", {"name": "gaea-darts-erm", "lr": 1.0}, "digits", run=folder, **QUICK).fit()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainResult:
    """A short training in a run directory."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    return Trainer(CELL, "digits", space="nano", run=folder, **TRAINING).fit()


def test_names_objects_and_the_command_line_search_alike(searched: SearchResult, tmp_path: Path) -> None:
    options = SearchOptions.model_validate(QUICK)
    method = make_method("gaea-darts-erm", {"lr": 1.0})
    by_objects = Searcher(get_space("nano"), method, load_dataset("digits"), options).fit()
    assert by_objects.digest == searched.digest
    assert by_objects.run is None
    by_mixture = Searcher("nano", method, load_dataset("digits"), **QUICK).fit()
    assert by_mixture.digest == searched.digest
    threads = str(torch.get_num_threads())
    out = str(tmp_path / "run")
    flags = ["--space", "nano", "--method", "gaea-darts-erm", "--data", "digits", "--device", "cpu"]
    flags += ["--threads", threads, "--no-report", "--quiet", "--out", out]
    assert main(["search", *flags, "method.lr=1.0", *WORDS]) == 0
    by_command = load_result(out)
    assert by_command["digest"] == searched.digest
    assert searched.run is not None
    assert read_config(searched.run) == read_config(Path(out))


def test_names_objects_and_the_command_line_train_alike(trained: TrainResult, tmp_path: Path) -> None:
    genotype = decode(CELL)
    options = TrainOptions.model_validate(TRAINING)
    space = adopt(get_space("nano"), genotype)
    assert Trainer(space, load_dataset("digits"), options).fit().digest == trained.digest
    assert Trainer(genotype, "digits", space=get_space("nano"), **TRAINING).fit().digest == trained.digest
    out = str(tmp_path / "run")
    flags = ["--space", "nano", "--data", "digits", "--device", "cpu", "--no-report", "--quiet", "--out", out]
    flags += ["--threads", str(torch.get_num_threads())]
    assert main(["train", CELL, *flags, "epochs=1", "batch=256", "net.channels=2", "net.auxiliary=0"]) == 0
    assert load_result(out)["digest"] == trained.digest
    assert trained.run is not None
    assert read_config(trained.run) == read_config(Path(out))
    models = [(run / "best.safetensors").read_bytes() for run in (trained.run, Path(out))]
    assert models[0] == models[1]


def load_result(path: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((Path(path) / "result.json").read_text())
    return result


def read_config(path: Path) -> str:
    return (path / "config.yaml").read_text()


def test_a_run_directory_is_resumed(searched: SearchResult) -> None:
    names = ("nano", {"name": "gaea-darts-erm", "lr": 1.0}, "digits")
    again = Searcher(*names, run=searched.run, **QUICK)
    assert again.fit().digest == searched.digest
    assert again.run is not None
    assert len(again.run.environment()) >= 2
    with pytest.raises(RunError, match="run with other settings: seed was 0, is 1"):
        Searcher(*names, run=searched.run, seed=1, **QUICK)


def test_the_cell_of_a_search_is_trained_on_its_images(searched: SearchResult) -> None:
    assert searched.run is not None
    digests = {
        Trainer(cell, **TRAINING).fit().digest for cell in (searched, searched.run, load_run(searched.run))
    }
    assert len(digests) == 1


def test_a_space_object_is_recorded_in_the_run(tmp_path: Path) -> None:
    space = get_space("nano").without("sep_conv_3x3")
    result = Searcher(space, "random", "digits", run=tmp_path / "run").fit()
    assert result.run is not None
    assert f"name: {result.run / 'space.json'}" in read_config(result.run)
    assert Searcher(space, "random", "digits", run=tmp_path / "run").fit().digest == result.digest


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("nan0", "darts", "digits"), {}, "did you mean 'nano'"),
        (("nano", "gaea-dart", "digits"), {}, "did you mean 'gaea-darts'"),
        (("nano", "darts", "digit"), {}, "did you mean 'digits'"),
        (("nano", "darts", "digits"), {"epoch": 3}, "did you mean 'epochs'"),
        (("nano", "darts", "digits"), {"weights": {"learning": 3}}, "weights.learning"),
        (("nano", {"name": "darts", "le": 1.0}, "digits"), {}, "no option of method darts called 'le'"),
        (("nano", "darts", "digits"), {"epochs": "many"}, "epochs='many'"),
        ((5, "darts", "digits"), {}, "expected a name, or a group"),
        (("nano", "darts", "digits", SearchOptions()), {"epochs": 1}, "leave out either options or epochs"),
        (("nano", "darts", "digits"), {"recipe": "quik"}, "did you mean 'quick'"),
    ],
)
def test_a_wrong_name_gets_a_hint(arguments: Any, settings: Any, message: str) -> None:
    with pytest.raises(dartboard.DartboardError, match=re.escape(message)):
        Searcher(*arguments, **settings)


def test_a_wrong_cell_gets_a_hint() -> None:
    with pytest.raises(dartboard.DartboardError, match="did you mean 'darts-v2'"):
        Trainer("darts-v3", "digits")
    with pytest.raises(dartboard.DartboardError, match="did you mean 'epochs'"):
        Trainer("darts-v2", "digits", epoch=1)


def test_objects_without_a_name_are_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="records the method by name"):
        Searcher("nano", make_method("darts"), "digits", run=tmp_path / "run")
    with pytest.raises(OptionError, match="records the data by name"):
        Trainer(CELL, load_dataset("digits"), run=str(tmp_path / "run"), space="nano")
    assert not (tmp_path / "run").exists()


def test_results_are_readable(searched: SearchResult, trained: TrainResult) -> None:
    for result in (searched, trained):
        lines = repr(result).splitlines()
        assert lines[0] == type(result).__name__
        assert len(lines) <= 9
        assert all(len(line) < 200 for line in lines)
    assert "0->1 nor_conv_3x3, 0->2 skip_connect, 1->2 none" in repr(trained)
    many = Searcher("asm", "random", "digits").fit()
    assert len(repr(many).splitlines()) <= 7
    assert "and 13 more cells" in repr(many)


def test_results_are_drawn_in_notebooks(searched: SearchResult, trained: TrainResult) -> None:
    for result in (searched, trained):
        html = result._repr_html_()
        root = ET.fromstring(html)  # noqa: S314 - our own
        assert root.find(".//{http://www.w3.org/2000/svg}svg") is not None
        assert "accuracy" in html or "best" in html


def test_hostile_names_are_escaped(searched: SearchResult) -> None:
    hostile = "<script>alert('&')</script>"
    cell = Cell(1, 3, (Edge(0, 1, (hostile,)), Edge(1, 2, ("skip_connect",))), output=(2,))
    result = replace(searched, genotype=Genotype(((hostile, cell),)), warnings=(hostile,))
    html = result._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    ET.fromstring(html)  # noqa: S314 - our own


def test_results_are_plotted(searched: SearchResult, trained: TrainResult) -> None:
    assert isinstance(searched.plot(), Figure)
    loss, accuracy = trained.plot().axes
    assert [line.get_label() for line in accuracy.lines] == ["train accuracy", "test accuracy"]
    assert loss.get_ylabel() == "loss"


def test_results_are_reported(searched: SearchResult, tmp_path: Path) -> None:
    assert searched.report(tmp_path / "page.html").read_text().startswith("<!")
    assert searched.run is not None
    assert searched.report() == load_run(searched.run).report() == searched.run / "report.html"
    with pytest.raises(RunError, match="run='runs/NAME'"):
        replace(searched, run=None).report()


def test_all_renderers_are_there() -> None:
    assert all(callable(find_renderer(name)) for name in RENDERERS)


def test_the_network_of_a_search(searched: SearchResult) -> None:
    x = torch.rand(4, 1, 8, 8)
    supernet, net = searched.supernet, searched.network()
    assert supernet is not None
    mixture = one_hot(supernet.space, searched.genotype)
    with torch.no_grad():
        torch.testing.assert_close(net.eval()(x), supernet.eval()(x, mixture))
    fresh = searched.network("fresh")
    assert fresh.space == net.space
    assert not fresh.config.search
    with pytest.raises(OptionError, match="weights is 'inherit' or 'fresh', not 'old'"):
        searched.network("old")  # type: ignore[arg-type]


def test_the_network_of_a_training(trained: TrainResult) -> None:
    assert trained.run is not None
    expected = load_model(trained.run / "best.safetensors").net.state_dict()
    in_memory = Trainer(CELL, "digits", space="nano", **TRAINING).fit()
    for result in (trained, in_memory):
        state = result.network().state_dict()
        assert all(torch.equal(state[name], expected[name]) for name in expected)
        assert result.model("last").classes == trained.classes
        assert [row["epoch"] for row in result.history] == [0]


def test_a_run_is_readable(searched: SearchResult) -> None:
    assert searched.run is not None
    run = load_run(searched.run)
    assert run.genotype == searched.genotype
    assert (run.result() or {})["digest"] == searched.digest
    assert len(run.metrics()) == 1
    lines = repr(run).splitlines()
    assert lines[1] == "  search: space nano, method gaea-darts-erm, data digits, seed 0"
    assert lines[2].startswith("  finished, epoch 1 of 1, accuracy ")
    with pytest.raises(RunError, match="is not a run: there is no such directory"):
        load_run("runs/nowhere")


def test_networks_are_evaluated_wherever_they_are(trained: TrainResult, tmp_path: Path) -> None:
    assert trained.run is not None
    expected = trained.best["test"].facts()["confusion"]
    exported = export_model(trained, tmp_path / "net.pt")
    models = [trained, trained.model(), trained.run, load_run(trained.run), trained.run / "best.safetensors"]
    for model in (*models, trained.network()):
        assert evaluate(model, "digits", part="test").facts()["confusion"] == expected
    exported_file = next(iter(exported.files))
    assert evaluate(exported_file, load_dataset("digits")).facts()["confusion"] == expected
    net = trained.network().train()
    evaluate(net, load_dataset("digits"))
    assert net.training
    with pytest.raises(dartboard.DartboardError, match="did you mean 'digits'"):
        evaluate(trained, "digit")
    with pytest.raises(dartboard.DartboardError, match="is neither a run nor a network"):
        evaluate("nowhere", "digits")


def test_exports_are_named_after_the_run_or_the_file(trained: TrainResult, tmp_path: Path) -> None:
    assert trained.run is not None
    for model in (trained, trained.run, load_run(trained.run)):
        assert [*export_model(model, format="pt2").files] == [trained.run.with_suffix(".pt2")]
    with pytest.raises(OptionError, match="name a format"):
        export_model(trained)
    with pytest.raises(OptionError, match="name the file to write"):
        export_model(trained.model(), format="pt2")
    with pytest.raises(dartboard.DartboardError, match="did you mean 'onnx'"):
        export_model(trained, tmp_path / "net.onnx", "onx")
    with pytest.raises(dartboard.DartboardError, match=r"did you mean '\.onnx'"):
        export_model(trained, tmp_path / "net.onx")
