import json
from pathlib import Path
from typing import Any

import pytest

from dartboard.cli.main import main
from dartboard.space import GENOTYPE_FORMATS, decode
from dartboard.tables import nb201_import
from dartboard.tables.nb201 import all_cells, read_columns, write_columns
from helpers import console
from helpers.nats_data import nats_folder
from helpers.nb201_data import made_up, real_table

CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
ALONE = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_1x1~2|"
SKIPS = "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "made-up.csv.gz"
    write_columns(path, made_up())
    return path


def query(capsys: Capture, cell: str, table: Path, *words: str) -> str:
    assert main(["oracle", "query", "nb201", cell, "--table", str(table), *words]) == 0
    return capsys.readouterr().out


def facts(capsys: Capture, cell: str, table: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(query(capsys, cell, table, "--json"))
    return found


def complaint(capsys: Capture, *words: object) -> str:
    return console.error_line(capsys, "oracle", *words)


def test_what_is_known_as_json(table: Path, capsys: Capture) -> None:
    found = facts(capsys, CELL, table)
    assert (found["oracle"], found["architectures"]) == ("nb201", 15_625)
    assert GENOTYPE_FORMATS["json"].decode(json.dumps(found["genotype"])) == decode(CELL)
    assert len(found["isomorphic"]) == 30
    columns = made_up()
    row = columns["arch_str"].index(CELL)
    own = found["datasets"]["cifar100"]
    assert own["test"] == pytest.approx(columns["cifar100_test"][row] / 100)
    assert own["regret"] == pytest.approx(own["best"] - own["test"])
    assert own["rank"] - 1 == sum(test > columns["cifar100_test"][row] for test in columns["cifar100_test"])
    sizes = {"parameters", "flops", "seconds"}
    assert own.keys() == {"valid", "test", "rank", "regret", "percentile", "best"} | sizes


def test_what_is_shown_is_what_json_says(table: Path, capsys: Capture) -> None:
    found = facts(capsys, CELL, table)
    title, head, *lines = query(capsys, CELL, table).splitlines()
    assert title == "nb201, 15,625 architectures; accuracies and percentiles in %"
    for line, (name, own) in zip(lines[:3], found["datasets"].items(), strict=True):
        shown = dict(zip(head.split(), line.split()[1:], strict=True))
        assert line.startswith(name)
        for key in ("valid", "test", "best", "regret", "percentile"):
            assert shown[key] == f"{100 * own[key]:.2f}"
        for key in ("rank", "parameters", "FLOPs"):
            assert shown[key] == f"{own[key.lower()]:,}"
    assert lines[3:] == [
        "",
        "isomorphic: 30 others",
        *found["isomorphic"][:8],
        "and 22 more, which --json lists",
    ]


def test_a_cell_like_no_other(table: Path, capsys: Capture) -> None:
    assert query(capsys, ALONE, table).endswith("\n\nisomorphic: 0 others\n")


def test_a_genotype_from_a_file(table: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "cell.json").write_text(GENOTYPE_FORMATS["json"].encode(decode(CELL)))
    assert query(capsys, str(tmp_path / "cell.json"), table) == query(capsys, CELL, table)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("query", "nb20", CELL, "--table", "x"), "no oracle called 'nb20'; did you mean 'nb201'?"),
        (("query", "nb201", CELL), "nb201 does not ship with dartboard; name its file with --table"),
        (
            ("query", "nb201", CELL, "--table", "nowhere"),
            "nowhere: cannot be read (No such file or directory)",
        ),
        (("query", "nb201", "|x", "--table", "nowhere"), "NAS-Bench-201 genotype: node 1: expected"),
        (
            ("import", "nb2", "x", "--out", "y"),
            "no oracle with an import called 'nb2'; did you mean 'nb201'?",
        ),
        (("import", "nb201", "x"), "the following arguments are required: --out"),
        (
            ("import", "nb201", "x", "--out", "no/where"),
            "no/where: no is not a folder that can be written to",
        ),
        ((), "the following arguments are required: ACTION"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert complaint(capsys, *words).startswith(message)


def test_a_genotype_of_another_space(table: Path, capsys: Capture) -> None:
    found = complaint(capsys, "query", "nb201", "darts-v2", "--table", table)
    assert found == "space 'nb201' expects the cells cell; the genotype has normal, reduce"


def test_a_table_from_official_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(nb201_import, "check_cells", len)  # three are quicker to write than all
    folder, out = nats_folder(tmp_path / "simple", all_cells()[:3], 3), tmp_path / "table.csv.gz"
    words = ["oracle", "import", "nb201", str(folder), "--out", str(out)]
    assert main(words) == 0
    size = out.stat().st_size
    assert capsys.readouterr().out == f"{out} holds 3 architectures in {size / 1000:.0f} kB\n"
    assert read_columns(out, ("arch_str",))["arch_str"] == all_cells()[:3]
    again = complaint(capsys, *words[1:])
    assert again == f"{out} is there already; name another with --out, or remove it"


def test_an_import_that_fails_leaves_nothing(tmp_path: Path, capsys: Capture) -> None:
    folder, out = nats_folder(tmp_path / "simple", all_cells(), 1), tmp_path / "table.csv.gz"
    found = complaint(capsys, "import", "nb201", folder, "--out", out)
    assert found == f"{folder}/000001.pickle.pbz2: cannot be read (No such file or directory)"
    assert list(tmp_path.iterdir()) == [folder]


def test_the_real_benchmark(capsys: Capture) -> None:
    lines = query(capsys, SKIPS, real_table()).splitlines()
    assert [line.split()[2] for line in lines[2:5]] == ["54.30", "15.61", "16.32"]
    assert [line.split()[3] for line in lines[2:5]] == ["94.37", "73.51", "47.31"]
