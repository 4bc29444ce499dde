import sys
from dataclasses import replace
from pathlib import Path
from subprocess import run

import pytest
from PIL import Image

from benching import SmallOracle, accuracy, random_at, record
from dartboard.scoreboard.plots import by_epoch, by_seconds, draw, one_cell
from dartboard.viz.band import Band

RECORDS = [record(label, seed, [0.5, 0.6 + 0.02 * seed]) for label in ("b", "a") for seed in (0, 1)]
NAMES = [
    f"{name}.{end}" for name in ("regret-epochs", "regret-seconds", "final-cells") for end in ("svg", "png")
]


def test_all_pictures_are_drawn_in_both_formats(tmp_path: Path) -> None:
    found = draw(RECORDS, SmallOracle(), tmp_path, [random_at([0.7])])
    assert [path.name for path in found] == NAMES
    assert sorted(tmp_path.iterdir()) == sorted(found)
    for path in found[1::2]:
        with Image.open(path) as picture:
            assert picture.format == "PNG"
            assert min(picture.size) > 300
    for path in found[::2]:
        assert path.read_text().startswith("<?xml")


def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    assert draw([], SmallOracle(), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_without_seconds_there_is_no_picture_of_them(tmp_path: Path) -> None:
    untimed = [record("a", 0, [0.5, 0.6], pace=None)]
    found = draw(untimed, SmallOracle(), tmp_path)
    assert [path.name for path in found] == [*NAMES[:2], *NAMES[4:]]


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        draw(RECORDS, SmallOracle(), folder)
    one, two = ([path.read_bytes() for path in sorted(folder.iterdir())] for folder in folders)
    assert one == two


def test_other_records_give_other_pictures(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in draw(RECORDS, SmallOracle(), tmp_path)]
    after = [path.read_bytes() for path in draw(RECORDS[:3], SmallOracle(), tmp_path)]
    assert not any(one == two for one, two in zip(before, after, strict=True))


def test_random_changes_the_regrets_alone(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in draw(RECORDS, SmallOracle(), tmp_path)]
    after = [path.read_bytes() for path in draw(RECORDS, SmallOracle(), tmp_path, [random_at([0.7])])]
    assert [one != two for one, two in zip(before, after, strict=True)] == [True] * 4 + [False] * 2


def test_a_single_random_cell_is_the_mean_of_all() -> None:
    found = one_cell(SmallOracle())
    assert (found.label, found.queries, found.draws) == ("random", 1, 1)
    assert found.regrets == pytest.approx([(accuracy(215) - accuracy(0)) / 2])


def test_no_window_system_is_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys; from dartboard.scoreboard.plots import draw; import benching; from pathlib import Path\n"
        "draw([benching.record('a', 0, [0.5])], benching.SmallOracle(), Path(sys.argv[1]))\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    done = run([sys.executable, "-c", program, tmp_path], cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0


BEST = 0.83


def made(band: Band | None) -> Band:
    assert band is not None
    return band


def test_the_mean_regret_of_every_epoch_and_its_deviation() -> None:
    band = made(by_epoch([record("a", 0, [0.5, 0.7]), record("a", 1, [0.6, 0.8])], "one"))
    assert band.x.tolist() == [1, 2]
    assert band.mean == pytest.approx([BEST - 0.55, BEST - 0.75])
    assert band.std == pytest.approx([0.05 * 2**0.5] * 2)


def test_regret_is_that_of_the_data_set() -> None:
    band = made(by_epoch([record("a", 0, [0.5])], "two"))
    assert band.mean == pytest.approx([BEST / 2 - 0.25])


def test_one_run_has_no_spread() -> None:
    assert made(by_epoch([record("a", 0, [0.5, 0.7])], "one")).std.tolist() == [0, 0]


def test_a_run_that_has_ended_keeps_its_last_cell() -> None:
    band = made(by_epoch([record("a", 0, [0.5]), record("a", 1, [0.5, 0.6, 0.7])], "one"))
    assert band.x.tolist() == [1, 2, 3]
    assert BEST - band.mean == pytest.approx([0.5, 0.55, 0.6])


def test_seconds_of_runs_are_joined_from_where_all_have_begun() -> None:
    slow, quick = record("a", 0, [0.5, 0.7], pace=3.0), record("a", 1, [0.6, 0.8], pace=2.0)
    band = made(by_seconds([slow, quick], "one"))
    assert band.x.tolist() == [3, 4, 6]
    assert BEST - band.mean == pytest.approx([0.55, 0.65, 0.75])


def test_the_last_epoch_gives_way_to_the_final_choice() -> None:
    own = record("a", 0, [0.5, 0.7])
    own = replace(own, final=replace(own.final, seconds=9.0, test={"one": 0.8, "two": 0.4}))
    assert BEST - made(by_epoch([own], "one")).mean == pytest.approx([0.5, 0.8])
    assert made(by_seconds([own], "one")).x.tolist() == [2, 9]


def test_a_method_that_trains_nothing_is_a_point() -> None:
    own = replace(record("a", 0, [0.5]), points=())
    assert made(by_epoch([own], "one")).x.tolist() == [1]


def test_runs_without_seconds_are_left_out_of_time() -> None:
    known, unknown = record("a", 0, [0.5], pace=2.0), record("a", 1, [0.7], pace=None)
    assert by_seconds([unknown], "one") is None
    assert BEST - made(by_seconds([known, unknown], "one")).mean == pytest.approx([0.5])
    assert by_epoch([], "one") is None
