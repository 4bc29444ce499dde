from pathlib import Path

import pytest
import yaml

from dartboard_papers._gaea_settings import METHOD_SETTINGS

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("bench", ["nb201", "oneshot1", "oneshot2", "oneshot3"])
def test_small_searches_are_those_of_the_benches(bench: str) -> None:
    """Nothing is set but what tells the methods apart, and the ops that are left out."""
    config = yaml.safe_load((RESULTS / bench / "bench.yaml").read_text())
    checked = 0
    for label, own in config["methods"].items():
        if label in METHOD_SETTINGS and not (bench == "nb201" and "pc-darts" in label):
            settings = METHOD_SETTINGS[label].search(full=False)
            assert settings.pop("method") == own.get("method", {})
            assert settings == {key: value for key, value in own.items() if key == "space"}
            checked += 1
    assert checked == (8 if bench == "nb201" else 2)


@pytest.mark.parametrize(
    ("label", "rate"), [("darts", 3e-4), ("gaea-darts-erm", 0.1), ("pc-darts", 6e-4), ("gdas", 3e-4)]
)
def test_the_papers_own_size_has_the_papers_own_rate(label: str, rate: float) -> None:
    assert METHOD_SETTINGS[label].search(full=True)["method"]["lr"] == rate
    assert "lr" not in METHOD_SETTINGS[label].search(full=False)["method"]


def test_the_paper_leaves_none_in_where_ops_are_drawn() -> None:
    gdas, darts = METHOD_SETTINGS["gdas"], METHOD_SETTINGS["darts"]
    assert "space" not in gdas.search(full=True)
    assert gdas.search(full=False)["space"] == darts.search(full=True)["space"] == {"without": ["none"]}
