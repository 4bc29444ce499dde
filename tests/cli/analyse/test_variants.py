import json
from typing import Any

import pytest

from dartboard.analysis.variants import random_connections, random_operations, widest
from dartboard.cli.main import main
from dartboard.space import GENOTYPE_FORMATS, decode, get_published
from helpers import console

Capture = pytest.CaptureFixture[str]
NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'


def told(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["analyse", "variants", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def made(capsys: Capture, *words: str) -> list[Any]:
    return [decode(one["text"]) for one in told(capsys, *words)["variants"]]


def complaint(capsys: Capture, *words: str) -> str:
    return console.error_line(capsys, "analyse", "variants", *words)


def test_five_connections_by_default(capsys: Capture) -> None:
    base = get_published("darts-v2")
    assert made(capsys, "darts-v2") == random_connections(base, 5)
    assert made(capsys, "darts-v2", "--seed", "3", "--count", "2") == random_connections(base, 2, seed=3)


def test_each_kind_and_option(capsys: Capture) -> None:
    base = get_published("darts-v2")
    assert made(capsys, "darts-v2", "--kind", "operations", "--count", "1") == random_operations(base, 1)
    assert made(capsys, "darts-v2", "--kind", "widest") == [widest(base)]
    assert made(capsys, "darts-v2", "--only", "normal", "--count", "1") == random_connections(
        base, 1, groups=["normal"]
    )
    assert made(capsys, "darts-v2", "--no-repeats", "--count", "1") == random_connections(
        base, 1, repeats=False
    )
    (other,) = made(capsys, "darts-v2", "--kind", "operations", "--count", "1", "--space", "s2")
    ops = {edge.ops[0] for cell in other.cells.values() for edge in cell.edges}
    assert ops == {"skip_connect", "sep_conv_3x3"}


def test_what_json_says(capsys: Capture) -> None:
    found = told(capsys, "darts-v2", "--kind", "widest")
    (only,) = found["variants"]
    assert (found["kind"], only["cells"]["normal"]["width"], only["cells"]["reduce"]["depth"]) == (
        "widest",
        4,
        2,
    )
    assert GENOTYPE_FORMATS["json"].decode(json.dumps(only["genotype"])) == decode(only["text"])


def test_what_is_shown_can_be_used_as_a_cell(capsys: Capture) -> None:
    assert main(["analyse", "variants", "darts-v2", "--count", "1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    (variant,) = random_connections(get_published("darts-v2"), 1)
    assert shown[0] == "connections 1  width, depth: normal 3c, 3, reduce 2.5c, 4"
    assert decode(shown[1]) == variant
    assert any("out" in line for line in shown[2:])  # the sketch
    assert main(["analyse", "topology", shown[1], "--json"]) == 0


def test_ops_of_benchmarks(capsys: Capture) -> None:
    (one,) = made(capsys, NB201, "--kind", "operations", "--count", "1")
    assert [edge.ops == ("none",) for edge in one.cells["cell"].edges].count(True) == 1
    (other,) = made(capsys, NB101, "--kind", "operations", "--count", "1")
    ops = {edge.ops[0] for edge in other.cells["cell"].edges if edge.target % 2 == 0}
    assert ops < {"conv_bn_relu_1x1", "max_pool_3x3"}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([NB201], "connections vary in cells with 2 inputs"),
        (["darts-v2", "--only", "cell"], "no cell 'cell'"),
        (["darts-v2", "--kind", "widest", "--count", "2"], "--count says nothing"),
        (["darts-v2", "--kind", "operations", "--no-repeats"], "--no-repeats says nothing"),
        (["darts-v2", "--space", "s2"], "--space says nothing"),
        (["darts-v2", "--seed", "-1"], "--seed"),
        (["darts-v2", "--kind", "other"], "invalid choice: 'other'"),
        ([NB201, "--kind", "operations", "--count", "5000"], "there are 1,023 variants"),
    ],
)
def test_mistakes_are_one_line(words: list[str], reason: str, capsys: Capture) -> None:
    assert reason in complaint(capsys, *words)
