import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.errors import SpaceError, UnknownNameError
from dartboard.space import (
    SPACES,
    Contest,
    count,
    files,
    get_space,
    load_space,
    space_from_json,
    space_from_yaml,
    space_to_json,
)

MINE = """
name: mine
stack: {cells: 6}
cell:
  inputs: 2
  nodes: 5
  ops: [none, skip_connect, sep_conv_3x3, max_pool_3x3]
  edges: all
  keep: 2
  output: [2, 3, 4]
"""

TWO = """
name: two
stack:
  cells: 3
  stages: 2
cells:
  normal:
    inputs: 2
    nodes: 4
    ops: [skip_connect, sep_conv_3x3]
    edges:
      - [0, 2]
      - [1, 2, [none, avg_pool_3x3, max_pool_3x3]]
      - [2, 3]
    output: [3]
  reduce:
    inputs: 2
    nodes: 3
    ops: [max_pool_3x3]
    output: [2]
"""


@pytest.mark.parametrize("name", SPACES)
def test_every_space_round_trips_exactly(name):
    space = get_space(name)
    text = space_to_json(space)
    assert space_from_json(text) == space
    assert space_to_json(space_from_json(text)) == text


def test_values_at_their_defaults_are_left_out():
    data = json.loads(space_to_json(get_space("darts")))
    assert data["stack"] == {"cells": 8}
    assert data["cells"]["normal"]["contests"][0] == {"edges": [0, 1], "keep": 2}


@given(data=st.data())
def test_any_space_round_trips_exactly(small_spaces, data):
    space = data.draw(small_spaces)
    assert space_from_json(space_to_json(space)) == space


def nano(change) -> str:
    data = json.loads(space_to_json(get_space("nano")))
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("stack"), "space JSON: stack: field required"),
        (lambda s: s.update(stak=1), "space JSON: no key called 'stak'; did you mean 'stack'"),
        (lambda s: s["stack"].update(cels=1), "stack: no key called 'cels'; did you mean 'cells'"),
        (lambda s: s["stack"].update(cells="5"), "stack.cells: expected a valid integer, got '5'"),
        (lambda s: s["stack"].update(cells=0), "stack: a stack needs cells >= 1, not 0"),
        (
            lambda s: s["stack"].update(reduce="pol"),
            "stack.reduce: expected 'cell', 'residual' or 'pool', got 'pol'",
        ),
        (
            lambda s: s["cells"]["cell"].update(imputs=1),
            "cells.cell: no key called 'imputs'; did you mean 'inputs'",
        ),
        (
            lambda s: s["cells"]["cell"]["edges"][1].update(op="a"),
            "cells.cell.edges.1: no key .*; did you mean 'ops'",
        ),
        (
            lambda s: s["cells"]["cell"]["edges"][1].update(zzz="a"),
            "cells.cell.edges.1: no key called 'zzz'; there are ops, source, target$",
        ),
        (
            lambda s: s["cells"]["cell"]["edges"][1].update(ops=[]),
            "cells.cell.edges.1: edge 0 -> 2 has no op",
        ),
        (lambda s: s["cells"]["cell"].update(output=[9]), "cells.cell: output node 9 is not an inner one"),
        (
            lambda s: s["cells"].update(other=s["cells"]["cell"]),
            "'nano' reads the cells cell, but it has cell, other",
        ),
    ],
)
def test_a_malformed_space_is_refused_in_one_line_with_the_place(change, message):
    with pytest.raises(SpaceError, match=message) as caught:
        space_from_json(nano(change))
    assert "\n" not in str(caught.value)


def test_text_that_is_not_json_is_refused():
    with pytest.raises(SpaceError, match=r"space JSON: invalid JSON: .* line 1 column 8"):
        space_from_json('{"name":')


def test_one_cell_serves_all_archs():
    space = space_from_yaml(MINE)
    assert space.cells["normal"] == space.cells["reduce"]
    assert [contest.keep for contest in space.cells["normal"].contests] == [2, 2, 2]
    assert len(space.cells["normal"].edges) == 9
    assert count(space) == (1 * 3 * 6 * 3**6) ** 2
    assert space.stack.cells == 6


def test_the_example_of_the_module_is_this_one():
    example = files.__doc__.split("this:\n")[1].split("\n`joins`")[0]
    assert space_from_yaml(example) == space_from_yaml(MINE)
    assert len(MINE.splitlines()) <= 20


def test_cells_and_edges_can_be_given_one_by_one():
    space = space_from_yaml(TWO)
    normal, reduce = space.cells["normal"], space.cells["reduce"]
    assert [(edge.source, edge.target, len(edge.ops)) for edge in normal.edges] == [
        (0, 2, 2),
        (1, 2, 3),
        (2, 3, 2),
    ]
    assert [(edge.source, edge.target) for edge in reduce.edges] == [(0, 2), (1, 2)]
    assert normal.contests == ()
    assert count(space) == 2 * 3 * 2


@pytest.mark.parametrize(
    ("key", "value"),
    [("weighted", True), ("joins", (2,)), ("concat", (2, 4)), ("adapt", False), ("project", True)],
)
def test_every_key_of_a_cell_changes_the_cell(key, value):
    before = space_from_yaml(MINE).cells["normal"]
    after = space_from_yaml(f"{MINE}  {key}: {json.dumps(value)}\n").cells["normal"]
    assert before != after
    if key == "weighted":
        assert after.contests[0] == Contest((0, 1), 2, weighted=True)
    else:
        assert getattr(after, key) == value


@pytest.mark.parametrize("name", SPACES)
def test_a_catalogue_space_is_loaded_by_name(name):
    assert load_space(name) == get_space(name)


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
def test_a_space_is_loaded_from_a_file(suffix, tmp_path):
    path = tmp_path / f"mine{suffix}"
    path.write_text(space_to_json(space_from_yaml(MINE)) if suffix == ".json" else MINE)
    assert load_space(path) == load_space(str(path)) == space_from_yaml(MINE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: mine", "nmae: mine", "no key called 'nmae'; did you mean 'name'"),
        ("cells: 6", "cels: 6", "stack: no key called 'cels'; did you mean 'cells'"),
        ("inputs", "imputs", "cell: no key called 'imputs'; did you mean 'inputs'"),
        ("nodes: 5", "nodes: five", "cell.nodes: expected a valid integer, got 'five'"),
        ("nodes: 5", "nodes: 4", "cell: output node 4 is not an inner one"),
        ("  output: [2, 3, 4]", "", "cell.output: field required"),
        ("edges: all", "edges: al", "cell.edges: expected 'all' or a list of .*, got 'al'"),
        ("edges: all", "edges: [[0, 2], [1]]", r"cell.edges.1: expected \[source, target\] or .*, got \[1\]"),
        ("edges: all", "edges: [[0, two]]", "cell.edges.0.1: expected a valid integer, got 'two'"),
        ("edges: all", "edges: [[3, 2], [2, 3]]", "cell: the cell has a cycle: 2 -> 3 -> 2"),
        ("ops: [none, skip_connect, sep_conv_3x3, max_pool_3x3]", "", "cell: edge 0 -> 2 has no op"),
        ("keep: 2", "keep: 0", "cell: a contest between 2 edges cannot keep 0"),
        ("keep: 2", "keep: 99", "cell: no node has 99 edges to keep: the most that enter one are 4"),
        ("keep: 2", "weighted: true", "cell: `weighted` says .* give `keep`"),
        ("cell:", "cells:", "cells.inputs: "),
        ("stack: {cells: 6}", "stack: {cells: 6", "line 4, column 5: "),
        ("cells: 6", "cells: true", "stack.cells: expected a valid integer, got True"),
        ("cells: 6", "cells: '6'", "stack.cells: expected a valid integer, got '6'"),
        ("edges: all", "edges: [[0, 2, none]]", "cell.edges.0.2: expected a valid array, got 'none'"),
        ("edges: all", "edges: &again [*again]", "contains itself"),
        ("name: mine", "? [a, b]\n: c\nname: mine", "unhashable key"),
        ("stack: {cells: 6}", "stack: {cells: 2}", "stack: 2 cells cannot make 3 stages"),
        ("name: mine", "name: 2026-13-45", "month must be in 1..12"),
        ("name: mine", "name: !!python/object:os.system x", "could not determine a constructor"),
        ("name: mine", "cells: {}\nname: mine", "expected either `cell`, .* or `cells`"),
    ],
)
def test_a_malformed_file_is_refused_in_one_line_with_the_place(old, new, message, tmp_path):
    path = tmp_path / "mine.yaml"
    assert old in MINE
    path.write_text(MINE.replace(old, new))
    with pytest.raises(SpaceError, match=message) as caught:
        load_space(path)
    assert str(caught.value).startswith(f"{path}: space YAML: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "just words", "- a\n- b", "\0", "[" * 2000])
def test_a_file_without_a_space_is_refused(text, tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(text)
    with pytest.raises(SpaceError, match="space YAML: "):
        load_space(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(SpaceError, match=r"cannot read the space .*No such file"):
        load_space(tmp_path / "absent.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(SpaceError, match="cannot read the space"):
        load_space(tmp_path / "bytes.yaml")


def test_a_wrong_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no space called 'oneshot'; did you mean 'oneshot"):
        load_space("oneshot")
