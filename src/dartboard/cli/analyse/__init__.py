"""Look into cells, networks and searches: their shape, how they learn, what the loss is like around them."""

from argparse import ArgumentParser, Namespace
from types import ModuleType

from dartboard.cli.analyse import (
    attention,
    convergence,
    hessian,
    landscape,
    stability,
    topology,
    trajectory,
    variants,
)
from dartboard.cli.arguments import add_words

TOOLS: dict[str, ModuleType] = {
    "topology": topology,
    "variants": variants,
    "convergence": convergence,
    "landscape": landscape,
    "hessian": hessian,
    "trajectory": trajectory,
    "attention": attention,
    "stability": stability,
}
"""Each tool is a module with a docstring, `configure(parser)` and `run(args)`."""


def configure(parser: ArgumentParser) -> None:
    """Declare the tools and their arguments."""
    add_words(parser, TOOLS, title="tools", word="tool", to="work", parent="analyse")


def run(args: Namespace) -> int:
    """Use the tool that was named."""
    code: int = args.work(args)
    return code
