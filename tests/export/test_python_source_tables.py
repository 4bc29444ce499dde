import ast

import pytest

from dartboard.export import Metadata
from dartboard.export.python_source import cell_table, constants, module_docstring, quoted, stack_table


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
