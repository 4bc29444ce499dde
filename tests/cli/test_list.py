import re
from pathlib import Path

import pytest

from dartboard.cli.list import KINDS
from dartboard.cli.main import main
from helpers.image_folders import idx_files


def listed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["list", *args]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_each_thing_has_one_line(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, kind).splitlines()
    names = [line.split()[0] for line in lines]
    assert names == [row["name"] for row in KINDS[kind]()]
    assert all(len(line.split()) > 2 and not line.endswith(".") for line in lines)


def test_data_sets_say_whether_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DARTBOARD_DATASETS", str(tmp_path))
    idx_files(tmp_path / "kmnist")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in listed(capsys, "datasets").splitlines()}
    assert lines["digits"].startswith("is there 1,797 handwritten digits")
    assert lines["kmnist"].startswith("is there 70,000 cursive")
    assert lines["mnist"].startswith("is not there 70,000 handwritten")


def test_without_a_kind_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [f"{kind}\n{listed(capsys, kind)}" for kind in KINDS]
    assert listed(capsys) == "\n".join(parts)


def test_an_unknown_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "method"]) == 2
    assert capsys.readouterr().err == (
        "dartboard: error: no kind of thing called 'method'; did you mean 'methods'?\n"
    )


def test_a_method_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "methods", "darts-2nd").splitlines() == [
        "darts-2nd",
        "DARTS, second order: the gradient after a virtual step of the weights (Liu et al. 2019).",
        "",
        "method.lr            auto   float | auto",
        "method.weight_decay  0.001  float",
        "method.product       exact  exact | finite",
        "method.radius        0.01   float",
    ]


def test_a_method_without_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, "methods", "random").endswith("nothing is trained.\n\nno options\n")


def test_a_method_of_a_plugin_that_says_nothing_of_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bare.py"
    file.write_text(
        "from dartboard import make_method, register_method\n\n\n"
        "@register_method('says-nothing')\n"
        "def says_nothing(*, lr: float = 0.1):\n"
        "    return make_method('darts', {'lr': lr})\n"
    )
    assert main(["list", "methods", "--plugin", str(file)]) == 0
    assert re.search(r"^says-nothing\s*$", capsys.readouterr().out, re.MULTILINE)


def test_a_method_of_a_plugin_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = tmp_path / "listed_by_name.py"
    plugin.write_text(
        "from dartboard.search import METHODS, Method, make_method\n\n\n"
        '@METHODS.register("listed-by-name")\n'
        "def listed_by_name(*, speed: int, lr: float = 0.5) -> Method:\n"
        '    """A method.\n\n    Args:\n        speed: How fast.\n        lr: How far.\n    """\n'
        '    return make_method("darts", {"lr": lr * speed})\n'
    )
    shown = listed(capsys, "methods", "listed-by-name", "--plugin", str(plugin))
    assert shown.splitlines() == [
        "listed-by-name",
        "A method.",
        "",
        "Args:",
        "    speed: How fast.",
        "    lr: How far.",
        "",
        "method.speed  required  int",
        "method.lr     0.5       float",
    ]


def test_settings_show_default_kind_and_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in listed(capsys, "settings").splitlines()]
    assert lines[0] == "space.name nano text a space of the catalog, or a file"
    assert "weights.lr 0.025 float learning rate at the start" in lines
    assert "precision full full | bf16 | fp16 precision of forward passes" in lines
    assert "method.OPTION an option of the method; see dartboard list methods NAME" in lines


def test_settings_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    whole = listed(capsys, "settings", "weights").splitlines()
    assert len(whole) > 5
    assert all(line.startswith("weights.") for line in whole)
    assert listed(capsys, "settings", "weights.lr").split()[:3] == ["weights.lr", "0.025", "float"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("methods", "gaea-dart"), "no method called 'gaea-dart'; did you mean 'gaea-darts'?"),
        (("settings", "weight.lr"), "no setting called 'weight.lr'; did you mean 'weights.lr'?"),
        (("settings", "weight"), "no setting called 'weight'; did you mean 'weights'?"),
        (
            ("ops", "none"),
            "methods, settings, train-settings are listed by name, ops are not; leave out 'none'",
        ),
        (("setting", "weights"), "no kind of thing called 'setting'; did you mean 'settings'?"),
    ],
)
def test_a_wrong_name(args: tuple[str, str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", *args]) == 2
    assert capsys.readouterr() == ("", f"dartboard: error: {words}\n")


def test_recipes_say_whose_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "recipes"]) == 0
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert [verb for name, verb, _ in rows if name == "quick"] == ["search", "train"]
    assert ["xnas-imagenet", "train"] in [row[:2] for row in rows]


def test_settings_of_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "train-settings", "weights.ema"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["weights.ema", "0.0", "float"]


def test_settings_of_a_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "protocol-settings"]) == 0
    keys = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert keys == ["searches", "short", "keep", "seeds", "random", "seed", "search.KEY", "train.KEY"]
