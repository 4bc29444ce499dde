from pathlib import Path

import pytest
import yaml

from dartboard.space import get_space
from dartboard_papers._gaea_settings import METHOD_SETTINGS, NB201_CELLS, ONESHOT_CELLS

RESULTS = Path(__file__).parents[2] / "results"
IMAGES = 10_000


@pytest.mark.parametrize("label", METHOD_SETTINGS)
def test_the_papers_own_size_has_the_papers_own_rate(label: str) -> None:
    way = METHOD_SETTINGS[label]
    assert way.scaled(way.images, way.epochs, way.cells) == way.rate


@pytest.mark.parametrize("bench", ["nb201", "oneshot1"])
def test_rates_are_those_that_were_worked_out_for_the_benches(bench: str) -> None:
    config = yaml.safe_load((RESULTS / bench / "bench.yaml").read_text())
    checked = 0
    for label, own in config["methods"].items():
        way, rate = METHOD_SETTINGS.get(label), own.get("method", {}).get("lr")
        if way is None or way.rate is None or (bench == "nb201" and label == "pc-darts"):
            continue
        images = IMAGES // 2 if way.bilevel else IMAGES * 9 // 10
        found = way.scaled(images, own.get("epochs", config["search"]["epochs"]), 3)
        assert found == pytest.approx(rate, rel=0.03)
        checked += 1
    assert checked == {"nb201": 6, "oneshot1": 2}[bench]


def test_fewer_cells_matter_where_the_gradient_does() -> None:
    assert (
        METHOD_SETTINGS["darts"].scaled(5_000, 25, 3)
        == METHOD_SETTINGS["darts"].scaled(5_000, 25, 15)
        == 0.0015
    )
    assert METHOD_SETTINGS["gaea-darts"].scaled(5_000, 25, 3) == 2.5
    assert METHOD_SETTINGS["gaea-darts"].scaled(5_000, 25, 15) == 0.5
    assert METHOD_SETTINGS["xnas"].scaled(5_000, 25, 3) is None


def test_cells_are_those_of_the_spaces() -> None:
    for name, cells in (("nb201", NB201_CELLS), ("oneshot1", ONESHOT_CELLS)):
        stack = get_space(name).stack
        assert stack.cells * stack.stages == cells
