"""Searches through torch.compile: the same result, to rounding."""

import pytest
import torch

from dartboard.data import load_dataset
from dartboard.errors import CompositionError
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import Cell, Edge, Stack, get_space
from dartboard.space.catalog import stacked

CELL = Cell(1, 2, (Edge(0, 1, ("skip_connect", "nor_conv_1x1")),), (1,), adapt=False)
STACK = Stack(1, reduce="residual", stages=1, stem=1, head_norm=True, pool_norm=False)


RATES = {"darts": {"lr": 3e-4}, "darts-2nd": {"lr": 3e-4}, "gaea-darts-erm": {"lr": 0.1}}
"""Small ones: a large one makes rounding grow from step to step."""


def make(name, space, **options):
    given = SearchOptions.model_validate({"epochs": 1, "batch": 64, **options})
    return Searcher(space, make_method(name, RATES.get(name)), load_dataset("digits"), given)


def state(name, **options):
    searcher = make(name, stacked("tiny", CELL, STACK), **options)
    searcher.fit()
    assert type(searcher.objective.forward).__name__ == (
        "OptimizedModule" if options.get("compile") else "CellNet"
    )
    return searcher.net.state_dict(), searcher.relaxation.strengths()["cell"].ops


@pytest.mark.slow
@pytest.mark.parametrize("name", ["darts", "gaea-darts-erm", "xnas", "asm", "darts-2nd"])
@pytest.mark.filterwarnings("ignore")  # torch's own, about its compiler
def test_a_compiled_search_gives_the_same_result(name):
    plain, compiled = (state(name, net={"channels": 4}, compile=option) for option in (False, True))
    for key, value in plain[0].items():
        torch.testing.assert_close(compiled[0][key], value, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(compiled[1], plain[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["gdas", "gaea-gdas", "random-ws"])
def test_what_is_drawn_anew_is_not_compiled(name):
    with pytest.raises(CompositionError, match="compiled anew; set compile=false"):
        make(name, get_space("nano"), compile=True)
