import ast

from dartboard.export.python_source import (
    block_sources,
    blocks,
    import_lines,
    names_in,
    required_blocks,
)


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
