from pathlib import Path

import pytest
import torch
from PIL import Image
from pydantic import ValidationError
from torch import Tensor

from dartboard.data import DATASETS, ImageFiles, Images, ImageSet, LoadOptions
from dartboard.errors import CompositionError, DataError, OptionError, SpaceError, UnknownNameError
from dartboard.runs import Run
from dartboard.search import METHODS, SearchOptions
from dartboard.search.build import make_loaders
from dartboard.search.config import (
    SearchConfig,
    build,
    build_space,
    load_config,
    resolved,
    search_options,
    validate,
)
from dartboard.space import get_space

YAML_SPACE = """
name: mine
stack: {cells: 1, reduce: residual, stages: 2, stem: 1, head_norm: true}
cell: {inputs: 1, nodes: 3, ops: [skip_connect, nor_conv_3x3], edges: all, output: [2], adapt: false}
"""


def test_the_defaults_are_those_of_the_loop() -> None:
    assert search_options(SearchConfig()) == SearchOptions()
    parts = build(SearchConfig())
    assert (parts.space, parts.data.name, parts.method.bilevel) == (get_space("nano"), "digits", True)


def test_every_option_of_the_loop_can_be_set() -> None:
    values = SearchOptions().model_dump() | {"epochs": 3, "data": {"pad": 2, "flip": True, "valid": 0.25}}
    config = SearchConfig.model_validate(values)
    assert search_options(config) == SearchOptions.model_validate(values)


def test_a_space_is_resized_and_loses_ops() -> None:
    config = load_config(words=["space=nb201", "space.cells=2", "space.without=[none, avg_pool_3x3]"])
    expected = get_space("nb201").without("none").without("avg_pool_3x3").resized(2)
    assert build_space(config.space) == expected
    assert build_space(load_config(words=["space.without=none"]).space) == get_space("nano").without("none")


def test_a_space_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(YAML_SPACE)
    assert build_space(load_config(flags={"space": str(file)}).space).name == "mine"


@pytest.mark.parametrize(
    ("word", "error", "message"),
    [
        ("space=nanno", UnknownNameError, "no space called 'nanno'; did you mean 'nano'?"),
        ("space.without=[conv]", SpaceError, "space 'nano' has no op 'conv' to leave out"),
        ("method=dart", UnknownNameError, "no method called 'dart'; did you mean 'darts'?"),
        ("method.lrr=1", UnknownNameError, "no option of method darts called 'lrr'; did you mean 'lr'?"),
        ("method.lr=fast", OptionError, "method.lr='fast' of darts: input should be a valid number"),
        ("method=evolution", CompositionError, "evolution needs an oracle"),
        (
            "data=digit",
            UnknownNameError,
            "no data set, file or folder called 'digit'; did you mean 'digits'?",
        ),
        ("data=no/such.npz", DataError, "there is no file or folder 'no/such.npz'"),
        ("weights.schedule=cos", UnknownNameError, "no schedule called 'cos'; did you mean 'cosine'?"),
    ],
)
def test_a_part_that_is_not_there(word: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        build(load_config(words=[word]))
    assert message in str(raised.value)


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        SearchConfig().epochs = 3  # type: ignore[misc]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "evolution"])
def test_what_is_resolved_says_the_same(method: str, tmp_path: Path) -> None:
    config = load_config(flags={"method": method}, words=["weights.lr=1e-3", "data.valid=0.3"])
    run = Run.create(tmp_path / "run", resolved(config))
    again = validate(run.config)
    assert build(again).options == build(config).options
    assert resolved(again) == resolved(config) == run.config
    assert load_config(file=tmp_path / "run" / "config.yaml") == again


def test_what_is_resolved_has_every_option_of_the_method() -> None:
    values = resolved(load_config(words=["method=gdas", "method.lr=1e-1"]))
    expected = {"bilevel": True, "joint": False, "lr": 0.1, "weight_decay": 1e-3, "start": 10.0, "end": 0.1}
    expected |= {"explore": "auto", "warmup": 1 / 3}
    assert values["method"] == {"name": "gdas"} | expected
    assert list(values)[:3] == ["space", "method", "data"]


def test_files_are_resolved_to_full_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = resolved(load_config(flags={"space": "mine.yaml", "data": "mine.npz"}))
    assert values["space"]["name"] == str(tmp_path / "mine.yaml")
    assert values["data"]["name"] == str(tmp_path / "mine.npz")
    assert resolved(load_config())["data"]["name"] in DATASETS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of images in two classes, of 12x12 pixels."""
    for number, name in enumerate(("a", "b")):
        (tmp_path / "images" / name).mkdir(parents=True)
        for place in range(4):
            picture = Image.linear_gradient("L").resize((12, 12)).rotate(90 * place)
            picture = Image.merge("RGB", [picture, picture, Image.new("L", (12, 12), 80 * number)])
            picture.save(tmp_path / "images" / name / f"{place}.png")
    return tmp_path / "images"


def test_size_and_memory_say_how_images_are_loaded(folder: Path) -> None:
    def loaded(*words: str) -> Images:
        return build(load_config(flags={"data": str(folder)}, words=words)).data.train

    assert loaded("data.size=10").shape == (3, 10, 10)
    assert loaded("data.size=6").shape == (3, 6, 6)
    assert isinstance(loaded("data.size=6"), ImageSet)
    assert isinstance(loaded("data.size=6", "data.memory=0"), ImageFiles)
    assert isinstance(loaded("data.size=6", "data.memory=0.000001"), ImageSet)  # 8 images of 108 bytes


@pytest.mark.parametrize("area", ["0", "0.3"])
def test_memory_changes_no_batch(folder: Path, area: str) -> None:
    """Parts are those of the images in files, 12x12 pixels, also where images of 6x6 would fit in memory."""

    def batch(memory: float) -> Tensor:
        words = [f"data.area={area}", "data.size=6", f"data.memory={memory}", "data.workers=0", "batch=4"]
        parts = build(load_config(flags={"data": str(folder)}, words=words))
        loaders = make_loaders(parts.data, parts.method, parts.options, torch.device("cpu"))
        return loaders.train.batch(0).x

    assert torch.equal(batch(0), batch(2))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_images_that_do_not_fit_in_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def load(_: str, __: LoadOptions) -> None:
        raise error

    file = folder.parent / "mine.npz"
    file.touch()
    monkeypatch.setattr("dartboard.search.config.load_dataset", load)
    with pytest.raises(DataError, match=r"do not fit in memory; set a smaller data.size, or data.memory=0"):
        build(load_config(flags={"data": str(folder)}))
    with pytest.raises(DataError, match=r"mine.npz: its images do not fit in memory; make a file of fewer"):
        build(load_config(flags={"data": str(file)}))


def test_other_errors_while_images_are_loaded_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_: str, __: LoadOptions) -> None:
        raise RuntimeError("a mistake")

    monkeypatch.setattr("dartboard.search.config.load_dataset", load)
    with pytest.raises(RuntimeError, match="a mistake"):
        build(SearchConfig())


def test_progress_is_told_of_the_loading(folder: Path) -> None:
    told: list[tuple[str, int, int]] = []
    build(load_config(flags={"data": str(folder)}), progress=lambda *given: told.append(given))
    assert told
    assert all(done <= total or not total for _, done, total in told)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("data.size=0", "data.size=0: input should be greater than or equal to 1"),
        ("data.memory=-1", "data.memory=-1: input should be greater than or equal to 0"),
        ("data.workers=-1", "data.workers=-1: input should be greater than or equal to 0"),
        ("data.area=1.5", "data.area=1.5: input should be less than or equal to 1"),
        ("data.autoaugment=cifar", "data.autoaugment='cifar': input should be 'none', 'cifar10', 'svhn' or"),
    ],
)
def test_options_of_images_have_ranges(word: str, message: str) -> None:
    with pytest.raises(OptionError) as raised:
        load_config(words=[word])
    assert str(raised.value).startswith(message)
