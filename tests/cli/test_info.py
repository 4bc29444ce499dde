import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import frontdoor
from dartboard.cli.main import main
from dartboard.space import (
    GENOTYPE_FORMATS,
    PUBLISHED,
    SPACES,
    Genotype,
    count,
    get_published,
    get_space,
    load_space,
)

KEYS = {"parameters", "parameters_auxiliary", "flops", "width", "depth", "mean_source", "genotype"}
NB201 = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'
NO_SHAPE = "expected channels x height x width like 3x32x32, got '32x32'"


def facts(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert main(["info", *args, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def lines(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    assert main(["info", *args]) == 0
    return capsys.readouterr().out.splitlines()


def complaint(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    return frontdoor.complaint(capsys, "info", *args)


def test_a_published_cell_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(capsys, "darts-v2")
    assert found.keys() >= KEYS
    assert found["parameters"] == 3_349_342
    assert found["parameters_auxiliary"] > found["parameters"]
    assert (found["width"], found["depth"], found["mean_source"]) == (3.5, 3, 0.625)
    assert GENOTYPE_FORMATS["json"].decode(json.dumps(found["genotype"])) == get_published("darts-v2")
    assert found["cells"]["normal"] == {"width": 3.5, "depth": 3, "mean_source": 0.625}
    assert found["cells"].keys() == {"normal", "reduce"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_cell_has_facts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(capsys, name, "--cells", "3", "--channels", "4")
    assert found["parameters_auxiliary"] > found["parameters"] > 1_000
    assert found["flops"] > found["parameters"]


def test_what_is_shown_is_what_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    found = facts(capsys, "darts-v2")
    shown = lines(capsys, "darts-v2")
    assert shown[0] == "darts-v2"
    assert shown[1] == PUBLISHED["darts-v2"].paper
    text = "\n".join(shown)
    for key in ("parameters", "parameters_auxiliary", "flops"):
        assert f"{found[key]:,}" in text
    assert f"{found['flops'] // 2:,} multiply-adds" in text
    assert "width          normal 3.5c, reduce 2.5c" in shown
    assert "depth          3" in shown
    assert "mean source    normal 0.625, reduce 1.125" in shown
    assert "●───┼───╮ sep_conv_3x3        ●───┼───╮ max_pool_3x3" in shown


@pytest.mark.parametrize(
    ("option", "value"),
    [("--channels", "20"), ("--cells", "4"), ("--classes", "100"), ("--input", "1x32x32")],
)
def test_every_size_matters(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["darts-v2", "--channels", "8", "--cells", "3"]
    usual, changed = facts(capsys, *small), facts(capsys, *small, option, value)
    assert changed["parameters"] != usual["parameters"]
    assert changed["flops"] != usual["flops"]


def test_larger_images_cost_more_but_hold_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["darts-v2", "--channels", "8", "--cells", "3"]
    usual, larger = facts(capsys, *small), facts(capsys, *small, "--input", "3x64x64")
    assert larger["parameters"] == usual["parameters"]
    assert larger["flops"] > 3.5 * usual["flops"]


def test_the_defaults_are_those_of_the_stack(capsys: pytest.CaptureFixture[str]) -> None:
    darts, nb201, nb101 = (facts(capsys, text) for text in ("darts-v2", NB201, NB101))
    assert (darts["space"], darts["stack"]["cells"], darts["build"]["channels"]) == ("darts", 20, 36)
    assert (nb201["space"], nb201["stack"]["cells"], nb201["build"]["channels"]) == ("nb201", 5, 16)
    assert (nb101["space"], nb101["stack"]["cells"], nb101["build"]["channels"]) == ("oneshot1", 3, 16)


def test_the_stack_can_be_chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    small = ["xnas", "--cells", "3", "--space"]
    darts, projected = facts(capsys, *small, "darts"), facts(capsys, *small, "xnas")
    assert projected["space"] == "xnas"
    assert projected["parameters"] != darts["parameters"]
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: mine\nstack: {cells: 6}\ncell: {inputs: 2, nodes: 3, ops: [skip_connect], output: [2]}\n"
    )
    assert facts(capsys, *small, str(file))["space"] == "mine"


def test_a_file_with_a_genotype(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "cell.json"
    file.write_text(GENOTYPE_FORMATS["json"].encode(get_published("darts-v2")))
    assert facts(capsys, str(file), "--cells", "3") == facts(capsys, "darts-v2", "--cells", "3")


def test_the_normal_cell_comes_first_however_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    turned = Genotype(tuple(reversed(get_published("darts-v2").archs)))
    found = facts(capsys, GENOTYPE_FORMATS["json"].encode(turned), "--cells", "3")
    assert (found["width"], found["mean_source"]) == (3.5, 0.625)


def test_a_benchmark_cell_is_shown_in_its_stack(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(lines(capsys, NB201))
    assert "nb201, 5 cells a stage, 3 stages joined by residual blocks" in text
    assert "●───╮ nor_conv_3x3" in text


@pytest.mark.parametrize("name", SPACES)
def test_every_space_has_facts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, space = facts(capsys, "--space", name), get_space(name)
    assert found["architectures"] == count(space)
    assert found["nodes"] == space.archs[0][1].nodes
    assert found["edges"] == len(space.archs[0][1].edges)
    assert found["ops"] == list(space.ops)
    assert found["cells"].keys() == space.cells.keys()
    assert lines(capsys, "--space", name)[0] == f"space {name}"


def test_a_space_is_shown_with_its_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, "--space", "darts")[:6] == [
        "space darts",
        "architectures  1,076,746,950,455,072,400 (about 1.1e18)",
        "stack          8 cells, 3 stages joined by reduction cells",
        "ops            none, max_pool_3x3, avg_pool_3x3, skip_connect, sep_conv_3x3,",
        "               sep_conv_5x5, dil_conv_3x3, dil_conv_5x5",
        "",
    ]
    assert "architectures  15,625" in lines(capsys, "--space", "nb201")
    assert "cell00 to cell19  each 6 nodes, 8 edges, 256 ways to choose" in lines(capsys, "--space", "s2")


def test_counts_of_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    assert facts(capsys, "--space", "nb201")["architectures"] == 15_625
    assert facts(capsys, "--space", "s1")["architectures"] == 7**16
    assert facts(capsys, "--space", "s2")["architectures"] == 2**160


def test_a_count_beyond_all_floats(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "vast.yaml"
    file.write_text(
        "name: vast\nstack: {cells: 1000, shared: false}\n"
        "cell: {inputs: 2, nodes: 6, ops: [skip_connect, sep_conv_3x3], edges: all, output: [2]}\n"
    )
    assert "architectures  about 2.6e4214" in lines(capsys, "--space", str(file))
    assert facts(capsys, "--space", str(file))["architectures"] == count(load_space(file))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "info needs a CELL or --space; see dartboard info --help"),
        (["dart-v2"], "no published cell called 'dart-v2'; did you mean 'darts-v2'?"),
        (["nowhere/cell.json"], "there is no file 'nowhere/cell.json' to read a genotype from"),
        (["--space", "dart"], "no space called 'dart'; did you mean 'darts'?"),
        (["darts-v2", "--space", "dart"], "no space called 'dart'; did you mean 'darts'?"),
        (["--space", "darts", "--cells", "3"], "--cells needs a CELL: a space is described as it is"),
        (["darts-v2", "--input", "32x32"], f"argument --input: {NO_SHAPE}; see dartboard info --help"),
    ],
)
def test_mistakes(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, *args) == message


def test_a_cell_that_does_not_fit_the_stack(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nb201" in complaint(capsys, "darts-v2", "--space", "nb201")


def test_an_image_too_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert "too small" in complaint(capsys, "darts-v2", "--input", "3x1x1")


def test_the_largest_network_has_facts(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--channels", "100000", "--classes", "100000", "--input", "100000x100000x100000", "--cells", "3"]
    assert facts(capsys, "nasnet-a", *sizes)["flops"] > 10**20


def test_an_op_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    text = NB201.replace("nor_conv_3x3~0", "nor_conv_3x4~0")
    assert "did you mean 'nor_conv_3x3'" in complaint(capsys, text)


def test_too_few_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "darts-v2", "--cells", "2") == "2 cells cannot make 3 stages; use at least 3"


def run(program: Path, *args: str, **environment: str) -> bytes:
    clean = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run([program, "info", *args], env=clean, check=True, capture_output=True).stdout


def test_piped_output_has_no_colours(program: Path) -> None:
    out = run(program, "--space", "nano", PYTHONUTF8="1")
    assert b"\x1b" not in out
    assert "●───┼───╮".encode() in out


def test_colours_where_asked_for_and_allowed(program: Path) -> None:
    colours = {"FORCE_COLOR": "1", "TERM": "xterm", "PYTHONUTF8": "1"}
    assert b"\x1b[1m" in run(program, "--space", "nano", **colours)
    assert b"\x1b[3" not in run(program, "--space", "oneshot1", **colours, NO_COLOR="1")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_plain_characters_where_the_encoding_is_plain(program: Path, encoding: str) -> None:
    out = run(program, "--space", "nano", PYTHONIOENCODING=encoding)
    assert b"*---|---+" in out
    assert out.isascii()


def test_names_that_the_encoding_does_not_have(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "name: größer\nstack: {cells: 3}\ncell: {inputs: 2, nodes: 3, ops: [skip_connect], output: [2]}\n",
        encoding="utf-8",
    )
    assert rb"space gr\xf6\xdfer" in run(program, "--space", str(file), PYTHONIOENCODING="ascii")
