import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dartboard.analysis.stability import RunStability, measure, stability
from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.search.searcher import load_searcher
from dartboard.search.stability import EdgeStability
from dartboard.search.stability import stability as direct
from dartboard.space import decode
from helpers.search_runs import search_runs

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    found = search_runs(folder, "asm", "darts", weights={"lr": 0.1})
    return found | search_runs(folder, "darts", seeds=2, weights={"lr": 0.1})


def test_it_is_what_the_search_itself_measures(runs: dict[str, Run]) -> None:
    run, told = runs["asm-0"], list[tuple[str, int, int]]()
    found, result = measure(run, progress=lambda *words: told.append(words)), run.result()
    assert result is not None
    searcher = load_searcher(run)
    genotype = decode(json.dumps(result["genotype"]))
    assert list(found.edges) == direct(searcher.objective, genotype, searcher.valid_batches)
    assert found.accuracy == pytest.approx(result["valid_accuracy"])
    assert told[-4:] == [("edges", done, 4) for done in range(4)]


def test_summaries_by_hand() -> None:
    edges = [EdgeStability("cell", place, "a", 0.5 + own, own) for place, own in enumerate((0.1, -0.2, 0.0))]
    own = RunStability(Path("run"), {}, 0, 0.5, edges)
    assert own.mean_change == pytest.approx(0.1)
    assert own.worst == pytest.approx(-0.2)
    assert json.loads(json.dumps(own.facts()))["edges"][1]["change"] == -0.2


def test_groups_and_their_picture(runs: dict[str, Run]) -> None:
    found = stability(*runs.values())
    assert {label: [own.seed for own in group] for label, group in found.groups.items()} == {
        "asm": [0],
        "darts": [0, 1],
    }
    figure = found.plot()
    *panels, beside = figure.axes
    for axes, group in zip(panels, found.groups.values(), strict=True):
        curves = [line.get_ydata() for line in axes.lines][::2]
        for curve, own in zip(curves, group, strict=True):
            np.testing.assert_allclose(np.asarray(curve), [edge.accuracy for edge in own.edges])
    heights = {round(float(np.diff(axes.get_ylim())[0]), 9) for axes in panels}
    assert len(heights) == 1
    means = [np.abs(np.concatenate([own.changes for own in group])).mean() for group in found.groups.values()]
    np.testing.assert_allclose([np.asarray(line.get_ydata())[0] for line in beside.lines[1::2]], means)


def test_only_edges_with_a_choice_are_counted(tmp_path: Path) -> None:
    run = search_runs(tmp_path, "darts", space="oneshot1", epochs=1)["darts-0"]
    found = measure(run.path)
    cell = load_searcher(run).space.cells["cell"]
    for own in found.edges:
        assert len(cell.edges[own.edge].ops) > 1 or cell.contest_of(own.edge) is not None
    assert 4 < len(found.edges) < len(cell.edges)


def test_a_run_that_is_not_finished_and_none_at_all(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "search"}) as run:
        pass
    with pytest.raises(RunError, match="is not finished, and has chosen nothing yet"):
        measure(run.path)
    with pytest.raises(RunError, match="no runs to look at"):
        stability()


@pytest.mark.parametrize("result", [{}, {"genotype": "?"}, {"genotype": None}])
@pytest.mark.usefixtures("without_checksums")
def test_a_result_without_a_cell_is_damaged(
    runs: dict[str, Run], tmp_path: Path, result: dict[str, object]
) -> None:
    shutil.copytree(runs["darts-0"].path, tmp_path / "run")
    (tmp_path / "run/result.json").write_text(json.dumps(result))
    with pytest.raises(RunError, match="run is damaged: what it chose cannot be read from its result"):
        measure(tmp_path / "run")
