import ast

import pytest

from dartboard.export import Metadata
from dartboard.export.python_source import (
    block_sources,
    blocks,
    cell_table,
    constants,
    exported_edges,
    import_lines,
    module_docstring,
    names_in,
    op_sources,
    quoted,
    required_blocks,
    stack_table,
    write_source,
)
from dartboard.space import Cell, Edge


def test_pieces_stand_in_the_order_in_which_they_are_read(make_model):
    text = write_source(make_model("darts"), "net")
    order = ["CLASSES = ", "class CellSpec", "CELLS = ", "STACK = ", "OPS = ", "KINDS = ", "make_stem = "]
    order += ["class Network", "def build", "def main", "if __name__"]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


def test_every_definition_is_used(make_model):
    for space in ("darts", "nb201", "oneshot1"):
        text = write_source(make_model(space), "net")
        tree = ast.parse(text)
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        unused = {name for name in defined if text.count(name) == 1}
        assert unused == set()


def test_every_block_is_code_that_only_needs_the_others_and_torch():
    for name, block in blocks().items():
        (node,) = ast.parse(block.source).body
        assert node.name == name
        assert "dartboard" not in block.source


def test_blocks_bring_what_they_need():
    assert required_blocks(["Separable"]) == {"Separable", "SeparableLayer"}
    assert required_blocks(["skip_connect"]) == {"skip_connect", "FactorizedReduce", "ReLUConvNorm"}
    assert required_blocks(["partial", "max_pool"]) == {"max_pool"}


def test_comments_at_the_ends_of_lines_stay():
    (text,) = block_sources(["CellSpec"])
    assert text.endswith("converts the output to the cell's width")


def test_imports_are_those_of_the_names_that_are_used():
    assert import_lines("x = json.loads(partial(reduce))\ny: Tensor = F.relu(torch.zeros(1))") == (
        "import json\nfrom functools import partial, reduce\n\n"
        "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor"
    )
    assert names_in(ast.parse("a.b(c)")) == {"a", "c"}


def entries(cell):
    return [(edge.source, edge.target, edge.op) for edge in exported_edges(cell)]


def test_absent_edges_stay_only_where_something_stands_for_them():
    edges = (Edge(0, 1, ("none",)), Edge(0, 2, ("none",)), Edge(1, 2, ("skip_connect",)))
    cell = Cell(1, 4, edges, output=(2,), adapt=False)
    assert entries(cell) == [(0, 1, "none"), (1, 2, "skip_connect"), (0, 3, "none")]
    side = Cell(1, 3, edges, output=(2,), concat=(2,), adapt=False)
    assert entries(side) == [(0, 1, "none"), (0, 2, "none"), (1, 2, "skip_connect")]
    assert [edge.index for edge in exported_edges(side)] == [None, 1, 2]


def test_a_skip_is_written_as_what_it_is_in_all_places(make_model):
    found = {op_sources(make_model("s2", seed=seed).net)[0].get("skip_connect") for seed in range(4)}
    assert found <= {"identity", "skip_or_reduce", "FactorizedReduce"}
    assert "skip_or_reduce" in found


@pytest.mark.parametrize("text", ["a", "it's", 'say "x"', "tab\t", "back\\slash", "both ' and \"", "é"])
def test_a_quoted_text_reads_back(text):
    assert ast.literal_eval(quoted(text)) == text


def test_equal_blocks_that_follow_each_other_are_one_line(make_model):
    model = make_model("darts")
    net = make_model(model.net.space.resized(20)).net
    assert '    *[("normal", 4, 1)] * 10,\n    ("reduce", 8, 2),\n' in stack_table(net)


def test_an_edge_is_a_line(make_model):
    space = make_model("darts").net.space
    text = cell_table(space)
    for edge in space.cells["normal"].edges:
        assert f'            ({edge.source}, {edge.target}, "{edge.ops[0]}"),\n' in text


@pytest.mark.parametrize("count", [1, 3, 300])
def test_constants_read_back(count):
    metadata = Metadata(tuple(map(str, range(count))), (1, 8, 8), (0.1 + 0.2,), (1e-3,), 0.5)
    found = {}
    for node in ast.parse(constants(metadata)).body[:5]:
        found[node.targets[0].id] = ast.literal_eval(node.value)
    assert found == {
        "CLASSES": metadata.classes,
        "INPUT": (1, 8, 8),
        "CENTRE": 0.5,
        "MEAN": metadata.mean,
        "DEVIATION": (1e-3,),
    }


def test_nothing_about_the_data_breaks_out_of_the_docstring(make_model):
    model = make_model("nano")
    model.facts["data"] = '/home/me/C:\\x"""\nimport os'
    (node,) = ast.parse(module_docstring(model, "net")).body
    assert "/home" not in node.value.value
    assert "trained on C:/x''' import os" in " ".join(ast.literal_eval(node.value).split())
