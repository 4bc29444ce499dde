import sys
from dataclasses import replace
from pathlib import Path
from subprocess import run

import pytest
from PIL import Image

from dartboard.errors import TableError
from dartboard.scoreboard.baselines import mean_cell, random_references
from dartboard.scoreboard.bench import plan_jobs
from dartboard.scoreboard.bench_result import (
    check_queries,
    draw_plots,
    regret_band,
    run_baselines,
    score_bench,
)
from dartboard.scoreboard.config import BenchConfig
from dartboard.tables import Table
from dartboard.viz.band import Band
from helpers.bench_records import SmallOracle, accuracy, random_at, record
from helpers.bench_runs import run_searches, settings, toy_table
from helpers.protocol_cases import few_digits


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Images, and the records of a bench on them."""
    path = tmp_path_factory.mktemp("finished")
    data = few_digits(path / "few.npz")
    searches = plan_jobs(settings(data, methods="gaea-darts,darts", seeds="0-1"))
    results = run_searches(path, searches, correlation=0)
    assert {result.state for result in results.values()} == {"finished"}
    return data, path / "records"


def untimed() -> Table:
    """The benchmark without its times."""
    oracle = toy_table()
    query = oracle.query
    oracle.query = lambda *asked: replace(query(*asked), seconds=None)  # type: ignore[method-assign]
    return oracle


def bench(data: str, *words: str, methods: str = "gaea-darts,darts", seeds: str = "0-1") -> BenchConfig:
    return settings(data, *words, methods=methods, seeds=seeds)


def test_records_are_in_the_order_of_the_bench(finished: tuple[str, Path]) -> None:
    data, folder = finished
    score = score_bench(bench(data, "queries=5"), folder, toy_table())
    assert [(own.label, own.seed) for own in score.records] == [
        ("gaea-darts", 0),
        ("gaea-darts", 1),
        ("darts", 0),
        ("darts", 1),
    ]
    assert [row.label for row in score.table.rows][:2] == ["gaea-darts", "darts"]


def test_what_is_missing_is_shown(finished: tuple[str, Path]) -> None:
    data, folder = finished
    table = score_bench(
        bench(data, "queries=5", methods="darts,xnas", seeds="1-2"), folder, toy_table()
    ).table
    assert [(row.label, row.done, row.missing) for row in table.rows][:2] == [
        ("darts", 1, (2,)),
        ("xnas", 0, (1, 2)),
    ]


def test_records_of_other_settings_do_not_count(finished: tuple[str, Path]) -> None:
    data, folder = finished
    with pytest.raises(TableError, match="is a record of other settings: epochs was 2, is 3"):
        score_bench(bench(data, "queries=5", "epochs=3"), folder, toy_table())


def test_everything_is_written(finished: tuple[str, Path], tmp_path: Path) -> None:
    data, folder = finished
    oracle = toy_table()
    score = score_bench(bench(data, "queries=5"), folder, oracle)
    written = score.write(tmp_path / "new", oracle)
    assert {path.name for path in written} >= {"table.md", "table.csv", "table.json", "regret-epochs.svg"}
    assert all(path.stat().st_size for path in written)
    assert (tmp_path / "new" / "table.md").read_text() == score.table.markdown()


def test_baselines_ask_as_often_as_the_mean_search_pays_for(finished: tuple[str, Path]) -> None:
    data, folder = finished
    score = score_bench(bench(data), folder, toy_table())
    mean = sum(own.final.seconds or 0 for own in score.records) / 4
    assert [own.queries for own in score.baselines] == [int(mean / 0.01)] * 2 + [1, 10, 100]
    assert [row.label for row in score.table.rows[-4:]] == [
        "mean cell",
        "best of 10",
        "best of 100",
        "best cell",
    ]
    assert all(row.difference is None for row in score.table.rows[-4:])


def test_as_long_as_nothing_is_done_nobody_pays() -> None:
    assert run_baselines(bench("digits"), [], toy_table()) == []
    assert [own.label for own in run_baselines(bench("digits", "queries=2"), [], toy_table())] == [
        "random",
        "evolution",
        "mean cell",
        "best of 10",
        "best of 100",
    ]


def test_what_random_means_is_said_with_three_budgets() -> None:
    """By validation accuracies, which swap the best two; the best of 10 of 216 as order statistics say."""
    mean, ten, hundred = random_references(SmallOracle(), 400)
    assert mean.tests["one"] == pytest.approx([(accuracy(0) + accuracy(215)) / 2])
    assert (ten.draws, ten.queries, hundred.queries) == (400, 10, 100)
    expected = sum(1 - (place / 216) ** 10 for place in range(1, 216))  # mean place of the best of ten
    dead = 11 / 216  # cells that are never drawn
    found = sum(ten.tests["one"]) / 400
    assert found == pytest.approx(accuracy(0) + 0.002 * expected, abs=0.01 + 0.43 * dead)
    assert sum(hundred.tests["one"]) > sum(ten.tests["one"]) > 400 * mean.tests["one"][0]


def test_small_tables_have_small_references() -> None:
    class Tiny(SmallOracle):
        def __len__(self) -> int:
            return 50

    assert [item.label for item in random_references(Tiny(), 2)] == ["mean cell", "best of 10"]


def test_queries_that_nobody_will_know() -> None:
    check_queries(bench("digits"), toy_table())
    check_queries(bench("digits", "queries=5"), untimed())
    check_queries(bench("digits", "baselines=[]"), untimed())
    with pytest.raises(TableError, match=r"toy does not know how long trainings take; .* with queries=N"):
        check_queries(bench("digits"), untimed())


RECORDS = [record(label, seed, [0.5, 0.6 + 0.02 * seed]) for label in ("b", "a") for seed in (0, 1)]
NAMES = [
    f"{name}.{end}" for name in ("regret-epochs", "regret-seconds", "final-cells") for end in ("svg", "png")
]


def test_all_pictures_are_drawn_in_both_formats(tmp_path: Path) -> None:
    found = draw_plots(RECORDS, SmallOracle(), tmp_path, [random_at([0.7])])
    assert [path.name for path in found] == NAMES
    assert sorted(tmp_path.iterdir()) == sorted(found)
    for path in found[1::2]:
        with Image.open(path) as picture:
            assert picture.format == "PNG"
            assert min(picture.size) > 300
    for path in found[::2]:
        assert path.read_text().startswith("<?xml")


def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    assert draw_plots([], SmallOracle(), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_without_seconds_there_is_no_picture_of_them(tmp_path: Path) -> None:
    untimed = [record("a", 0, [0.5, 0.6], pace=None)]
    found = draw_plots(untimed, SmallOracle(), tmp_path)
    assert [path.name for path in found] == [*NAMES[:2], *NAMES[4:]]


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        draw_plots(RECORDS, SmallOracle(), folder)
    one, two = ([path.read_bytes() for path in sorted(folder.iterdir())] for folder in folders)
    assert one == two


def test_other_records_give_other_pictures(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in draw_plots(RECORDS, SmallOracle(), tmp_path)]
    after = [path.read_bytes() for path in draw_plots(RECORDS[:3], SmallOracle(), tmp_path)]
    assert not any(one == two for one, two in zip(before, after, strict=True))


def test_random_changes_the_regrets_alone(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in draw_plots(RECORDS, SmallOracle(), tmp_path)]
    after = [path.read_bytes() for path in draw_plots(RECORDS, SmallOracle(), tmp_path, [random_at([0.7])])]
    assert [one != two for one, two in zip(before, after, strict=True)] == [True] * 4 + [False] * 2


def test_a_single_random_cell_is_the_mean_of_all() -> None:
    found = mean_cell(SmallOracle())
    assert (found.label, found.queries, found.draws) == ("mean cell", 1, 1)
    assert found.regrets == pytest.approx([(accuracy(215) - accuracy(0)) / 2])


def test_no_window_system_is_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from helpers import bench_records\n"
        "from dartboard.scoreboard.bench_result import draw_plots\n"
        "draw_plots([bench_records.record('a', 0, [0.5])], bench_records.SmallOracle(), Path(sys.argv[1]))\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = run([sys.executable, "-c", program, tmp_path], cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0


BEST = 0.83


def made(band: Band | None) -> Band:
    assert band is not None
    return band


def test_the_mean_regret_of_every_epoch_and_its_deviation() -> None:
    band = made(regret_band([record("a", 0, [0.5, 0.7]), record("a", 1, [0.6, 0.8])], "one", "epochs"))
    assert band.x.tolist() == [1, 2]
    assert band.mean == pytest.approx([BEST - 0.55, BEST - 0.75])
    assert band.std == pytest.approx([0.05 * 2**0.5] * 2)


def test_regret_is_that_of_the_data_set() -> None:
    band = made(regret_band([record("a", 0, [0.5])], "two", "epochs"))
    assert band.mean == pytest.approx([BEST / 2 - 0.25])


def test_one_run_has_no_spread() -> None:
    assert made(regret_band([record("a", 0, [0.5, 0.7])], "one", "epochs")).std.tolist() == [0, 0]


def test_a_run_that_has_ended_keeps_its_last_cell() -> None:
    band = made(regret_band([record("a", 0, [0.5]), record("a", 1, [0.5, 0.6, 0.7])], "one", "epochs"))
    assert band.x.tolist() == [1, 2, 3]
    assert BEST - band.mean == pytest.approx([0.5, 0.55, 0.6])


def test_seconds_of_runs_are_joined_from_where_all_have_begun() -> None:
    slow, quick = record("a", 0, [0.5, 0.7], pace=3.0), record("a", 1, [0.6, 0.8], pace=2.0)
    band = made(regret_band([slow, quick], "one", "seconds"))
    assert band.x.tolist() == [3, 4, 6]
    assert BEST - band.mean == pytest.approx([0.55, 0.65, 0.75])


def test_the_last_epoch_gives_way_to_the_final_choice() -> None:
    own = record("a", 0, [0.5, 0.7])
    own = replace(own, final=replace(own.final, seconds=9.0, test={"one": 0.8, "two": 0.4}))
    assert BEST - made(regret_band([own], "one", "epochs")).mean == pytest.approx([0.5, 0.8])
    assert made(regret_band([own], "one", "seconds")).x.tolist() == [2, 9]


def test_a_method_that_trains_nothing_is_a_point() -> None:
    own = replace(record("a", 0, [0.5]), points=())
    assert made(regret_band([own], "one", "epochs")).x.tolist() == [1]


def test_runs_without_seconds_are_left_out_of_time() -> None:
    known, unknown = record("a", 0, [0.5], pace=2.0), record("a", 1, [0.7], pace=None)
    assert regret_band([unknown], "one", "seconds") is None
    assert BEST - made(regret_band([known, unknown], "one", "seconds")).mean == pytest.approx([0.5])
    assert regret_band([], "one", "epochs") is None
