import json
from pathlib import Path

import pytest

from dartboard.analysis.topology import Shape, over_epochs, shape_of, shapes_of
from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.space import GENOTYPE_FORMATS, PUBLISHED, Genotype, decode, get_published, get_space

NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|none~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'


def plain(genotype: Genotype) -> object:
    return json.loads(GENOTYPE_FORMATS["json"].encode(genotype))


def test_the_shape_of_darts() -> None:
    assert shape_of(get_published("darts-v2").cells["normal"]) == Shape(3.5, 3, 0.625, 8, 7 / 8)


def test_none_is_no_connection() -> None:
    """Input to 1, 1 to 2 and input to 3, which leaves: 2 leads nowhere."""
    assert shapes_of(decode(NB201)) == {"cell": Shape(2.0, 2, 1 / 3, 3, 2 / 3)}


def test_ops_on_nodes_are_seen_as_drawn() -> None:
    """Input to the one vertex, both to the output: one connection besides those that collect."""
    assert shapes_of(decode(NB101)) == {"cell": Shape(1.0, 2, 0.0, 1, 1.0)}


def test_a_cell_without_connections_has_no_shape() -> None:
    nothing = decode("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")
    assert shapes_of(nothing) == {"cell": Shape(0.0, 0, 0.0, 0, 0.0)}


def test_all_published_cells() -> None:
    found = {name: shapes_of(told.genotype) for name, told in PUBLISHED.items()}
    assert all(list(shapes) == ["normal", "reduce"] for shapes in found.values())
    assert found["amoebanet-a"]["normal"] == shape_of(get_published("amoebanet-a").cells["normal"])


def test_a_search_over_its_epochs(tmp_path: Path) -> None:
    names = ("xnas", "darts-v2")
    with Run.create(tmp_path / "run", {}, space=get_space("darts")) as run:
        assert over_epochs(run.path) == []
        for epoch, name in enumerate(names):
            run.record(epoch, {"loss": 1.0}, {"genotype": plain(get_published(name))})
    found = over_epochs(tmp_path / "run")
    assert [one.epoch for one in found] == [0, 1]
    assert [one.genotype for one in found] == [get_published(name) for name in names]
    assert [one.shapes["normal"].depth for one in found] == [5, 3]


def test_a_training_has_nothing_to_choose(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "train", "cell": "darts-v2"}) as run:
        run.record(0, {"loss": 1.0}, {})
    with pytest.raises(RunError, match="dartboard train, which chooses no cell; name one of a search"):
        over_epochs(tmp_path / "run")
    with pytest.raises(RunError, match="no run"):
        over_epochs(tmp_path)


@pytest.mark.parametrize("damaged", [{}, {"genotype": 3}, {"genotype": {"cell": "?"}}])
def test_damaged_epochs_are_said_to_be_so(tmp_path: Path, damaged: dict[str, object]) -> None:
    with Run.create(tmp_path / "run", {"kind": "search"}) as run:
        run.record(0, {"loss": 1.0}, {"genotype": plain(get_published("xnas"))})
        run.record(1, {"loss": 1.0}, damaged)
    with pytest.raises(RunError, match="run is damaged: what its epoch 1 would choose cannot be read"):
        over_epochs(tmp_path / "run")
