import pytest

from dartboard.errors import OptionError
from dartboard.sweep.grid import (
    check_count,
    count_points,
    flattened,
    nested,
    overlaid,
    parse_values,
    points,
    run_name,
)
from dartboard.sweep.stage_plan import KNOWN

SEARCH = KNOWN["search"]


def test_settings_are_nested_or_dotted() -> None:
    found = flattened(
        {"weights": {"lr": 0.1}, "net.channels": 4, "method": "darts", "space": {"name": "nano"}}
    )
    assert found == {"weights.lr": 0.1, "net.channels": 4, "method.name": "darts", "space.name": "nano"}
    assert nested(found) == {
        "weights": {"lr": 0.1},
        "net": {"channels": 4},
        "method": {"name": "darts"},
        "space": {"name": "nano"},
    }


def test_options_belong_to_the_name_they_were_said_of() -> None:
    any_lr, darts, gdas = (
        {"method.lr": 1},
        {"method.name": "darts", "method.decay": 2},
        {"method.name": "gdas"},
    )
    assert overlaid(any_lr, darts) == any_lr | darts
    assert overlaid(any_lr, darts, gdas) == any_lr | gdas
    assert overlaid(darts, any_lr, gdas) == gdas  # said of darts
    assert overlaid(darts, gdas, any_lr) == gdas | any_lr
    assert overlaid(darts, {"method.name": "darts"}) == darts
    assert overlaid({"data.name": "a", "data.pad": 1}, {"data.name": "b"}) == {
        "data.name": "b",
        "data.pad": 1,
    }


def test_a_value_is_no_group() -> None:
    with pytest.raises(OptionError, match="epochs is a value and a group at once"):
        nested({"epochs": 3, "epochs.more": 1})


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("0..3", (0, 1, 2, 3)),
        (["0..1", 7], (0, 1, 7)),
        (5, (5,)),
        ("darts", ("darts",)),
        ([0.1, 0.2], (0.1, 0.2)),
        ([["none"], []], (["none"], [])),
    ],
)
def test_values_of_a_grid(value: object, found: tuple[object, ...]) -> None:
    assert parse_values("seed", value) == found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "grid.seed=[]: expected values such as [1, 2] or 0..4"),
        ([{}], "grid.seed=[{}]: expected values such as [1, 2] or 0..4"),
        (None, "grid.seed=null: expected values such as [1, 2] or 0..4"),
        ("4..1", "grid.seed=4..1: a range such as 0..4 goes from the smaller number to the larger"),
        ("0..99999999", "grid.seed=0..99999999: 100,000,000 values are too many; at most 100,000"),
        ([0, 0], "grid.seed: 0 stands there twice; leave out one of them"),
        (["0..3", 2], "grid.seed: 2 stands there twice; leave out one of them"),
        (["darts", "xnas", "darts"], "grid.seed: 'darts' stands there twice; leave out one of them"),
        ([{"name": "a"}, {"name": "a"}], "grid.seed: {name: 'a'} stands there twice; leave out one of them"),
    ],
)
def test_values_that_a_grid_cannot_have(value: object, words: str) -> None:
    with pytest.raises(OptionError) as told:
        parse_values("seed", value)
    assert str(told.value) == words


def test_points_are_counted_before_they_are_made() -> None:
    grid, rows = {"seed": (0, 1), "epochs": (2, 3, 4)}, [{"batch": 1}, {"batch": 2}]
    assert count_points(grid, rows) == len(list(points(grid, rows))) == 12
    assert count_points({}, []) == 1
    check_count("grid", 100_000)
    with pytest.raises(OptionError, match=r"^grid: 100,001 runs are too many; at most 100,000$"):
        check_count("grid", 100_001)


def test_every_combination_with_every_row() -> None:
    found = list(
        points({"seed": (0, 1), "epochs": (2, 3)}, [{"method.name": "darts"}, {"method.name": "xnas"}])
    )
    assert len(found) == 8
    assert found[0] == {"method.name": "darts", "seed": 0, "epochs": 2}
    assert found[-1] == {"method.name": "xnas", "seed": 1, "epochs": 3}
    assert list(points({}, [])) == [{}]


def test_methods_with_options_in_a_grid() -> None:
    [one, two] = points({"method": ({"name": "xnas", "lr": 1}, "gdas")}, [])
    assert one == {"method.name": "xnas", "method.lr": 1}
    assert two == {"method.name": "gdas"}
    with pytest.raises(OptionError, match=r"method\.lr is in the grid and in a row"):
        list(points({"method": ({"name": "xnas", "lr": 1},)}, [{"method.lr": 2}]))


def test_settings_are_said_once() -> None:
    for twice in ({"weights": {"lr": 1}, "weights.lr": 2}, {"weights.lr": 1, "weights": {"lr": 2}}):
        with pytest.raises(OptionError, match=r"weights\.lr is said twice; leave out one of them"):
            flattened(twice)
    with pytest.raises(OptionError, match=r"method\.lr is said twice"):
        list(points({"method": ({"name": "xnas", "lr": 1},), "method.lr": (2,)}, []))
    with pytest.raises(OptionError, match=r"weights={}: expected a value, or a group"):
        flattened({"weights": {}})


def test_a_setting_is_in_the_grid_or_in_rows() -> None:
    with pytest.raises(OptionError, match="seed is in the grid and in a row"):
        list(points({"seed": (0,)}, [{"seed": 1}]))


@pytest.mark.parametrize(
    ("varied", "name"),
    [
        ({"method.name": "darts"}, "darts-s3"),
        ({"weights.lr": 0.1, "method.name": "gaea-darts"}, "gaea-darts-lr0.1-s3"),
        ({"method.name": "xnas", "method.lr": 0.1}, "xnas-method.lr0.1-s3"),
        ({"method.name": "darts", "data.seed": 1}, "darts-data.seed1-s3"),
        ({"method.name": "darts", "data.name": "/a/b/few images.npz"}, "darts-few_images-s3"),
        ({"method.name": "darts", "space.without": ["none", "skip"]}, "darts-withoutnone+skip-s3"),
        ({"method.name": "darts", "space.without": ["none"]}, "darts-withoutnone-s3"),
        ({"method.name": "darts", "space.without": []}, "darts-withoutnothing-s3"),
        ({"method.name": "darts", "data.flip": True}, "darts-fliptrue-s3"),
        ({"cell": "found-0", "net.auxiliary": 0}, "found-0-auxiliary0-s3"),
    ],
)
def test_names(varied: dict[str, object], name: str) -> None:
    assert run_name(varied, 3, SEARCH) == name


def test_names_do_not_depend_on_the_order_of_settings() -> None:
    one = {"weights.lr": 0.1, "batch": 8, "method.name": "darts"}
    assert (
        run_name(one, 0, SEARCH)
        == run_name(dict(reversed(one.items())), 0, SEARCH)
        == "darts-batch8-lr0.1-s0"
    )


def test_long_names_are_cut_and_told_apart() -> None:
    one, two = (run_name({"method.name": "x" * 200 + end}, 0, SEARCH) for end in "ab")
    assert len(one) <= 80
    assert one != two
