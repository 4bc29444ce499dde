import json
from pathlib import Path

import numpy as np
import pytest

from dartboard.analysis.trajectories import YLABELS, band, labels, trajectory
from dartboard.analysis.trajectory import QUANTITIES
from dartboard.errors import RunError
from dartboard.runs import Run
from histories import histories

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return histories(tmp_path_factory.mktemp("runs"), "gaea-darts", "darts", seeds=2)


def test_a_band_by_hand() -> None:
    found = band([([1, 2, 3], np.array([1.0, 2.0, 6.0])), ([1, 2], np.array([3.0, 4.0]))])
    assert found is not None
    assert found.x.tolist() == [1, 2]
    assert found.mean.tolist() == [2.0, 3.0]
    np.testing.assert_allclose(found.std, [2**0.5, 2**0.5])


def test_a_band_of_one_has_no_spread_and_of_an_unknown_there_is_none() -> None:
    single = band([([1, 2], np.array([1.0, 2.0]))])
    assert single is not None
    assert single.std.tolist() == [0.0, 0.0]
    assert band([([1, 2], np.array([1.0, 2.0])), ([1, 2], None)]) is None


def test_searches_that_differ_by_their_seed_stand_together(runs: dict[str, Run]) -> None:
    found = trajectory(*(run.path for run in runs.values()))
    assert list(found.groups) == ["gaea-darts", "darts"]
    assert [own.seed for own in found.groups["darts"]] == [0, 1]
    each = [own.curve("entropy") for own in found.groups["darts"]]
    whole = found.band("darts", "entropy")
    assert whole is not None
    np.testing.assert_allclose(whole.mean, np.mean(each, axis=0))  # type: ignore[arg-type]
    np.testing.assert_allclose(whole.std, np.std(each, axis=0, ddof=1))  # type: ignore[arg-type]
    facts = json.loads(json.dumps(found.facts()))
    assert facts["darts"]["mean"]["entropy"] == whole.mean.tolist()
    assert len(facts["darts"]["runs"]) == 2


def test_other_settings_are_another_group(runs: dict[str, Run], tmp_path: Path) -> None:
    other = histories(tmp_path, "darts", epochs=1, method={"name": "darts", "weight_decay": 0.5})
    third = histories(tmp_path, "darts", epochs=1, checkpoint={"keep": 3})
    found = trajectory(*other.values(), *third.values())
    assert list(found.groups) == ["darts, weight_decay=0.5", "darts, weight_decay=0.001"]
    assert list(trajectory(*other.values(), runs["gaea-darts-0"]).groups) == ["darts", "gaea-darts"]


def test_labels_say_what_differs() -> None:
    one = {"method.name": "darts", "method.lr": 0.1, "epochs": 5}
    assert labels([one]) == ["darts"]
    assert labels([one, {**one, "epochs": 6}]) == ["darts, epochs=5", "darts, epochs=6"]
    other = {"method.name": "xnas", "method.bound": 1.0, "epochs": 5}
    assert labels([one, other]) == ["darts", "xnas"]


def test_the_same_search_twice_and_none_at_all(runs: dict[str, Run]) -> None:
    run = runs["darts-0"]
    with pytest.raises(RunError, match="are the same search with seed 0; name one of them"):
        trajectory(run.path, run.path)
    with pytest.raises(RunError, match="no runs to look at"):
        trajectory()


def test_pictures_show_every_quantity_and_group(runs: dict[str, Run]) -> None:
    found = trajectory(*runs.values())
    pictures = found.plot()
    assert YLABELS.keys() == QUANTITIES.keys()
    for axes, quantity in zip(pictures["trajectory"].axes, YLABELS, strict=True):
        for line, label in zip(axes.lines, found.groups, strict=True):
            own = found.band(label, quantity)
            assert own is not None
            np.testing.assert_allclose(line.get_ydata(), own.mean)  # type: ignore[arg-type]
    titles = [axes.get_title() for axes in pictures["ops"].axes]
    assert titles == list(found.groups)
    last = {label: own[0].points[-1].cells["cell"] for label, own in found.groups.items()}
    for axes, label in zip(pictures["ops"].axes, found.groups, strict=True):
        heights = [bars.patches[-1].get_height() for bars in axes.containers]  # type: ignore[attr-defined]
        assert sum(heights) == sum(last[label].ops.values())
    shown = pictures["margins"].axes[0].images[0].get_array()
    assert shown is not None
    each = [own.points[-1].cells["cell"].margins for own in found.groups["gaea-darts"]]
    np.testing.assert_allclose(np.asarray(shown)[:, -1], np.mean(each, axis=0))


def test_two_archs_have_columns_of_their_own(tmp_path: Path) -> None:
    run = histories(tmp_path, "darts", epochs=1, space={"name": "darts", "cells": 3})["darts-0"]
    pictures = trajectory(run).plot()
    titles = [axes.get_title() for axes in pictures["ops"].axes]
    assert titles == ["darts, normal", "darts, reduce"]
