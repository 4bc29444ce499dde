import ast

from dartboard.export.python_source import write_source


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
