import pytest
from rich.text import Text

from benching import SmallOracle, random_at, record
from dartboard.cli.bench import print_table, scoreboard_lines
from dartboard.scoreboard.table import Table, make_table


@pytest.fixture
def table() -> Table:
    good = [record("good", seed, [0.80 + 0.01 * seed]) for seed in range(3)]
    bad = [record("bad", seed, [0.50 + 0.01 * seed]) for seed in range(2)]
    expected = {"good": range(3), "bad": range(3), "absent": range(2)}
    return make_table(expected, [*good, *bad], SmallOracle(), [random_at([0.70, 0.72, 0.74])])


def plain(table: Table, width: int) -> list[str]:
    return [own if isinstance(own, str) else own.plain for own in scoreboard_lines(table, width)]


def test_a_row_is_one_line_where_there_is_room(table: Table) -> None:
    lines = plain(table, 10_000)
    assert lines[0] == "small, 216 architectures; accuracies, regrets and differences in %"
    assert [line.split()[0] for line in lines[1:6]] == ["method", "good", "bad", "absent", "random"]
    assert lines[2].split()[1:5] == ["3/3", "81.00", "+-", "1.00"]
    assert len({len(line) for line in lines[1:7]}) == 1  # columns stand below each other
    assert lines[8:] == list(table.remarks)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_on_narrow_terminals_columns_go_on_below(table: Table, width: int) -> None:
    lines = plain(table, width)
    assert all(len(line) <= width for line in lines[1:])
    assert sum(line.startswith("method") for line in lines) > 1
    heads = " ".join(line for line in lines if line.startswith("method")).split()
    whole = plain(table, 10_000)[1].split()
    assert [name for name in heads if name != "method"] == whole[1:]


def test_even_where_no_column_fits_nothing_is_lost(table: Table) -> None:
    lines = plain(table, 20)
    assert sum(line.startswith("method") for line in lines) == len(table.cells()[0]) - 1
    assert any("better" in line for line in lines)


def test_names_are_coloured_by_what_is_said_of_them(table: Table) -> None:
    texts = [line for line in scoreboard_lines(table, 10_000) if isinstance(line, Text)]
    colours = {line.plain.split()[0]: str(line.spans[0].style) for line in texts[2:]}
    assert colours == {"good": "green", "bad": "red", "absent": "cyan", "random": "cyan", "best": "cyan"}


def test_in_a_pipe_rows_stay_whole(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table)
    assert capsys.readouterr().out.splitlines() == plain(table, 10_000)
