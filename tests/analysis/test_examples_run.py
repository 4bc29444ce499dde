"""The examples in the docstrings of the analyses of any module."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["hessian", "landscape", "lines", "module_training"])
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(import_module(f"dartboard.analysis.{name}"))
    assert result.attempted > 3
    assert result.failed == 0
