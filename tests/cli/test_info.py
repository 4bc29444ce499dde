"""Cells and spaces drawn to files by `dartboard info`."""

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dartboard.cli.info import mixture_of, print_cell, print_space, space_facts
from dartboard.cli.main import main
from dartboard.cli.render import Terminal, draw_cells, fit_cells
from dartboard.nn.costs import NetworkCosts
from dartboard.space import (
    GENOTYPE_FORMATS,
    PUBLISHED,
    SPACES,
    Genotype,
    SearchSpace,
    adopt,
    count,
    decode,
    get_published,
    get_space,
    load_space,
    sample,
)
from dartboard.space.catalog import darts_cell, stacked
from dartboard.space.spec import Stack
from helpers import console
from helpers.report_runs import found_cell, make_search, make_training

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
    return console.error_line(capsys, "info", *args)


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
    turned = Genotype(tuple(reversed(get_published("darts-v2").groups)))
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
    assert found["nodes"] == space.groups[0][1].nodes
    assert found["edges"] == len(space.groups[0][1].edges)
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


def test_piped_output_has_no_colors(program: Path) -> None:
    out = run(program, "--space", "nano", PYTHONUTF8="1")
    assert b"\x1b" not in out
    assert "●───┼───╮".encode() in out


def test_colors_where_asked_for_and_allowed(program: Path) -> None:
    colors = {"FORCE_COLOR": "1", "TERM": "xterm", "PYTHONUTF8": "1"}
    assert b"\x1b[1m" in run(program, "--space", "nano", **colors)
    assert b"\x1b[3" not in run(program, "--space", "oneshot1", **colors, NO_COLOR="1")


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


def test_a_cell_has_the_shape_the_papers_give(capsys: pytest.CaptureFixture[str]) -> None:
    cells = facts(capsys, "amoebanet-a", "--channels", "4", "--cells", "3")["cells"]
    assert cells["normal"] == {"width": 4.0, "depth": 4, "mean_source": 0.9}


def test_a_space_has_the_facts_of_its_cells() -> None:
    facts = space_facts(get_space("s1"))
    ops = get_space("s1").ops
    choice = {"nodes": 6, "inputs": 2, "edges": 8, "ops": ops, "architectures": 7**8}
    first = {"architectures": 7**16, "nodes": 6, "edges": 8, "ops": ops}
    assert facts == first | {"cells": dict.fromkeys(("normal", "reduce"), choice)}


BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
SMALL = ("--channels", "4", "--cells", "3")


def drawn(path: Path, *words: str) -> bytes:
    assert main(["info", *words, "--out", str(path)]) == 0
    return path.read_bytes()


def drawing_error(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return console.error_line(capsys, "info", *words)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.product(keep=5)
def test_every_published_cell_can_be_drawn(name: str, tmp_path: Path) -> None:
    assert drawn(tmp_path / "cell.svg", name, *SMALL).startswith(BEGINNINGS["svg"])


@pytest.mark.parametrize("ending", BEGINNINGS)
def test_the_ending_says_in_what_format(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"cell.{ending}"
    first = drawn(path, "darts-v2", *SMALL)
    assert first.startswith(BEGINNINGS[ending])
    assert capsys.readouterr().out.endswith(f"\nwritten to {path}\n")
    assert drawn(path, "darts-v2", *SMALL) == first
    assert drawn(path, "darts-v1", *SMALL) != first


def test_a_space_is_drawn_with_all_its_candidates(tmp_path: Path) -> None:
    whole, cell = drawn(tmp_path / "a.svg", "--space", "nb201"), tmp_path / "b.svg"
    assert drawn(cell, "|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|", *SMALL) != whole


def test_json_is_printed_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert drawn(tmp_path / "cell.png", "darts-v2", *SMALL, "--json")
    assert json.loads(capsys.readouterr().out)["space"] == "darts"


def test_the_strengths_of_a_search_are_drawn(tmp_path: Path) -> None:
    first, second = (
        make_search(tmp_path / name, "nb201", epochs=2, seed=seed).path
        for seed, name in enumerate(("a", "b"))
    )
    found = drawn(tmp_path / "found.svg", str(first))
    thick = drawn(tmp_path / "thick.svg", str(first), "--strengths")
    assert thick != found
    assert drawn(tmp_path / "thick.svg", str(second), "--strengths") != thick


def test_the_mixture_is_that_of_the_last_epoch_ops_times_edges(tmp_path: Path) -> None:
    run = make_search(tmp_path / "run", "oneshot1", epochs=2)
    strengths = json.loads((run.path / "epochs" / "0001.json").read_text())["strengths"]
    space, weights = mixture_of(str(run.path))
    [(arch, cell)] = space.groups
    assert space.cells == get_space("oneshot1").cells
    for index, edge in enumerate(cell.edges):
        scale, ops = strengths[arch]["edges"][index], strengths[arch]["ops"][index]
        assert weights[arch][index] == pytest.approx([scale * own for own in ops[: len(edge.ops)]])


def test_what_has_no_strengths_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search = make_search(tmp_path / "search", epochs=0, finish=False).path
    other = make_search(tmp_path / "other", epochs=1)
    training = make_training(tmp_path / "train", found_cell(other)).path
    out = ("--strengths", "--out", str(tmp_path / "x.png"))
    assert "needs the directory of a search; darts-v2 is none" in drawing_error(capsys, "darts-v2", *out)
    assert f"{training} is none" in drawing_error(capsys, str(training), *out)
    assert "its first epoch is not over" in drawing_error(capsys, str(search), *out)
    needs = "--strengths needs the directory of a search as CELL, and --out FILE"
    assert drawing_error(capsys, str(search), "--strengths") == needs
    assert drawing_error(capsys, "--space", "nano", *out) == needs
    assert not (tmp_path / "x.png").exists()


@pytest.mark.usefixtures("without_checksums")
def test_damaged_strengths_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_search(tmp_path / "run", epochs=1).path
    path = run / "epochs" / "0000.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"strengths": {}}))
    words = drawing_error(capsys, str(run), "--strengths", "--out", str(tmp_path / "x.png"))
    assert "the strengths of epoch 0 cannot be read: KeyError('cell')" in words


def test_places_that_cannot_be_written_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = drawing_error(capsys, "darts-v2", "--out", "cell.gif")
    assert words == "--out cell.gif: the ending must be one of .png, .svg, .pdf"
    nowhere = tmp_path / "none" / "cell.png"
    assert f"there is no folder {nowhere.parent}; make it first" in drawing_error(
        capsys, "darts-v2", "--out", str(nowhere)
    )


def shown(capsys: pytest.CaptureFixture[str], space: SearchSpace) -> list[str]:
    print_space(space, space_facts(space))
    return capsys.readouterr().out.splitlines()


def test_cells_that_are_the_same_are_drawn_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, get_space("asm"))
    assert sum("c(k-2)" in line for line in lines) == 1
    assert any(line.startswith("cell00 to cell14  each 6 nodes, 14 edges") for line in lines)


def test_cells_that_differ_are_drawn_each(capsys: pytest.CaptureFixture[str]) -> None:
    normal, reduce = darts_cell(("a", "b")), darts_cell(("a", "b", "c"))
    lines = shown(capsys, SearchSpace("two", (("normal", normal), ("reduce", reduce)), Stack(cells=8)))
    assert sum("c(k-2)" in line for line in lines) == 2
    assert any(line.startswith("reduce  6 nodes") for line in lines)


def test_long_counts_are_given_by_their_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, get_space("asm"))[1] == "architectures  about 4.5e189"


def test_one_cell_is_no_plural(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        shown(capsys, get_space("nano"))[2]
        == "stack          1 cell a stage, 2 stages joined by residual blocks"
    )
    pooled = stacked("pooled", get_space("oneshot1").cells["cell"], Stack(cells=2, reduce="pool"))
    assert shown(capsys, pooled)[2] == "stack          2 cells a stage, 3 stages joined by max-pooling"


BUILD = {"channels": 36, "classes": 10, "input": (3, 32, 32)}


def shape(width: float, depth: int, mean_source: float) -> dict[str, float]:
    return {"width": width, "depth": depth, "mean_source": mean_source}


def test_shapes_that_agree_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    space = adopt(get_space("darts"), get_published("snas"))
    shapes = {"normal": shape(4.0, 2, 0.5), "reduce": shape(4.0, 3, 1.25)}
    print_cell("a/file", space, BUILD, NetworkCosts(1000, 2000, 4000), shapes)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        "stack          darts, 8 cells, 3 stages joined by reduction cells",
        "network        36 channels, 10 classes, input 3x32x32",
        "parameters     1,000 (2,000 with the auxiliary head)",
        "FLOPs          4,000 an image, or 2,000 multiply-adds",
        "width          4c",
        "depth          normal 2, reduce 3",
        "mean source    normal 0.5, reduce 1.25",
    ]


def test_narrow_terminals_get_one_drawing_below_the_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    space = adopt(get_space("darts"), get_published("snas"))
    print_cell("snas", space, BUILD, NetworkCosts(1, 1, 2), {"normal": shape(4, 2, 0.5)})
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("0 c(k-2)") == 2


class Paper(Terminal):
    """A terminal of a given width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width


def fitted(genotype: Genotype, width: int, height: int) -> list[str]:
    return [line.plain for line in fit_cells(genotype.groups, Paper(width), height)]


def test_drawings_where_they_fit() -> None:
    cells = get_published("darts-v2")
    assert fitted(cells, 80, 15) == [line.plain for line in draw_cells(cells.groups, Paper(80))]
    assert len(fitted(cells, 80, 15)) == 15


@pytest.mark.parametrize(("width", "height"), [(80, 14), (50, 20), (20, 40)])
def test_lines_where_drawings_do_not_fit(width: int, height: int) -> None:
    lines = fitted(get_published("darts-v2"), width, height)
    assert [line.split()[0] for line in lines] == ["normal", "reduce"]
    assert all(len(line) <= width for line in lines)


def test_the_commonest_op_comes_first_and_the_rarest_are_cut() -> None:
    cells = get_published("darts-v2")
    assert fitted(cells, 80, 2) == [
        "normal  5 sep_conv_3x3, 2 skip_connect, 1 dil_conv_3x3",
        "reduce  5 max_pool_3x3, 3 skip_connect",
    ]
    assert fitted(cells, 50, 2)[0] == "normal  5 sep_conv_3x3, 2 skip_connect, ..."


def test_many_cells_are_counted_where_their_lines_do_not_fit() -> None:
    genotype = sample(get_space("asm"), Random(0))
    assert len(fitted(genotype, 80, 15)) == 15
    assert fitted(genotype, 80, 10)[-1] == "and 6 more"
    assert len(fitted(genotype, 80, 10)) == 10
    assert fitted(genotype, 80, 0) == ["and 15 more"]


def test_ops_on_vertices_are_counted_without_the_wires() -> None:
    cell = decode(
        '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'
    )
    assert fitted(cell, 80, 1) == ["cell  1 conv_bn_relu_3x3"]


def test_a_cell_without_ops() -> None:
    assert fitted(decode("|none~0|+|none~0|none~1|"), 80, 1) == ["cell  nothing"]
