import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dartboard.analysis.topology import rank_shapes, shapes_of
from dartboard.cli.main import main
from dartboard.runs import Run
from dartboard.space import GENOTYPE_FORMATS, PUBLISHED, adopt, decode, get_published, get_space, sample

Capture = pytest.CaptureFixture[str]
NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'


def told(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["analyse", "topology", *words, "--json"]) == 0
    (out,) = capsys.readouterr().out.splitlines()
    found: dict[str, Any] = json.loads(out)
    return found


def lines(capsys: Capture, *words: str) -> list[str]:
    assert main(["analyse", "topology", *words]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def search(tmp_path: Path) -> Path:
    """A search that would have chosen two published cells, one after the other."""
    with Run.create(tmp_path / "search", {}, space=get_space("darts")) as run:
        for epoch, name in enumerate(("xnas", "darts-v2")):
            genotype = json.loads(GENOTYPE_FORMATS["json"].encode(get_published(name)))
            run.record(epoch, {"loss": 1.0}, {"genotype": genotype})
    return tmp_path / "search"


def test_all_published_cells_by_default(capsys: Capture) -> None:
    shown = lines(capsys)
    rows = [line.split() for line in shown[1 : 1 + 2 * len(PUBLISHED)]]
    assert [row[0] for row in rows[::2]] == list(PUBLISHED)
    assert ["darts-v2", "normal", "3.5c", "3", "0.625", "8", "88%", "0.6%", "0.6%", "yes"] in rows
    assert any("518,400 connections of its nodes and ops" in line for line in shown)
    assert any("all 1,037,664,180 cells of space darts" in line for line in shown)


def test_json_is_what_the_library_says(capsys: Capture) -> None:
    (found,) = told(capsys, "darts-v2")["cells"]
    shapes, places = (
        shapes_of(get_published("darts-v2")),
        rank_shapes(get_published("darts-v2"), get_space("darts")),
    )
    for arch in ("normal", "reduce"):
        own = found["cells"][arch]
        assert own["width"] == shapes[arch].width
        assert own["standing"]["width"]["above"] == places[arch].width.above
        assert own["standing"]["percentile"]["depth"] == places[arch].depth.percentile
        assert own["standing"]["common"] == places[arch].common
    assert found["epochs"] == []


def test_cells_of_no_space_stand_among_their_connections(capsys: Capture) -> None:
    (found,) = told(capsys, "nasnet-a")["cells"]
    assert found["cells"]["normal"]["standing"]["total"] == 518_400


def test_a_space_by_name(capsys: Capture) -> None:
    (found,) = told(capsys, "darts-v2", "--space", "xnas")["cells"]
    assert found["cells"]["normal"]["standing"]["among"] == "cells of space xnas"
    assert main(["analyse", "topology", "nasnet-a", "--space", "darts"]) == 2
    assert "expected the output nodes" in capsys.readouterr().err


def test_cells_of_benchmarks(capsys: Capture) -> None:
    first, second = told(capsys, NB201, NB101)["cells"]
    assert (first["name"], second["name"]) == ("genotype 1", "genotype 2")
    assert first["cells"]["cell"]["standing"]["total"] == 15_625
    assert first["cells"]["cell"]["width"] == shapes_of(decode(NB201))["cell"].width
    assert "standing" not in second["cells"]["cell"]  # of none of the spaces
    assert "-" in lines(capsys, NB101)[1].split()


def test_a_search_over_its_epochs(search: Path, capsys: Capture) -> None:
    (found,) = told(capsys, str(search))["cells"]
    assert found["name"] == "search"
    assert [one["cells"]["normal"]["depth"] for one in found["epochs"]] == [5, 3]
    shown = lines(capsys, str(search))
    assert "search over its epochs: width, depth, mean source" in shown
    assert shown[-2].split() == ["0", "2.5c", "5", "1.38", "2.5c", "5", "1.25"]
    assert shown[-1].split()[:4] == ["1", "3.5c", "3", "0.625"]


def test_a_training_has_the_shape_of_its_cell(tmp_path: Path, capsys: Capture) -> None:
    genotype = get_published("darts-v2")
    config = {"kind": "train", "cell": GENOTYPE_FORMATS["json"].encode(genotype)}
    with Run.create(tmp_path / "run", config, space=adopt(get_space("darts"), genotype)) as run:
        run.record(0, {"loss": 1.0}, {})
    (found,), (wanted,) = (told(capsys, text)["cells"] for text in (str(run.path), "darts-v2"))
    assert found == wanted | {"name": "run"}


@pytest.mark.usefixtures("without_checksums")
def test_damaged_epochs_are_said_to_be_so(search: Path, capsys: Capture) -> None:
    (search / "epochs/0000.json").write_text("{}")
    assert main(["analyse", "topology", str(search)]) == 2
    assert "search is damaged: what its epoch 0 would choose cannot be read" in capsys.readouterr().err


def test_many_cells_are_shown_by_their_mean(tmp_path: Path, capsys: Capture) -> None:
    space = get_space("s2")
    with Run.create(tmp_path / "run", {}, space=space) as run:
        genotype = json.loads(GENOTYPE_FORMATS["json"].encode(sample(space, Random(0))))
        run.record(0, {"loss": 1.0}, {"genotype": genotype})
    assert lines(capsys, str(tmp_path / "run"))[-2:] == ["epoch  mean of 20 cells", "0      2.5c  5  1.25"]


def test_pictures_and_numbers(search: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "new" / "out"
    shown = lines(capsys, str(search), "gdas", "--out", str(out))
    assert shown[-1] == f"written to {out}"
    names = sorted(path.name for path in out.iterdir())
    figures = ("cell-1", "cell-2", "epochs-1", "standing")
    assert names == sorted(
        [f"{name}.{end}" for name in figures for end in ("png", "svg")] + ["topology.json"]
    )
    assert json.loads((out / "topology.json").read_text()) == told(capsys, str(search), "gdas")


@pytest.mark.parametrize("words", [["nowhere/run"], ["darts-v3"], ["darts-v2", "--space", "dart"]])
def test_mistakes_are_one_line(words: list[str], capsys: Capture) -> None:
    assert main(["analyse", "topology", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dartboard: error: ")
    assert err.count("\n") == 1
