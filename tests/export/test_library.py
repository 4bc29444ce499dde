import ast

from dartboard.export.library import closure, imports, library, names_in, texts


def test_every_block_is_code_that_only_needs_the_others_and_torch():
    for name, block in library().items():
        (node,) = ast.parse(block.text).body
        assert node.name == name
        assert "dartboard" not in block.text


def test_blocks_bring_what_they_need():
    assert closure(["Separable"]) == {"Separable", "SeparableLayer"}
    assert closure(["skip_connect"]) == {"skip_connect", "FactorizedReduce", "ReLUConvNorm"}
    assert closure(["partial", "max_pool"]) == {"max_pool"}


def test_comments_at_the_ends_of_lines_stay():
    (text,) = texts(["Plan"])
    assert text.endswith("brings the output to the cell's width")


def test_imports_are_those_of_the_names_that_are_used():
    assert imports("x = json.loads(partial(reduce))\ny: Tensor = F.relu(torch.zeros(1))") == (
        "import json\nfrom functools import partial, reduce\n\n"
        "import torch\nimport torch.nn.functional as F\nfrom torch import Tensor"
    )
    assert names_in(ast.parse("a.b(c)")) == {"a", "c"}
