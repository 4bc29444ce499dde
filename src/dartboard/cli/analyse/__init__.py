"""Look into cells, networks and searches: their shape, how they learn, what the loss is like around them."""

from argparse import ArgumentParser

from dartboard.cli.commands import add_commands

TOOLS = {
    "topology": "dartboard.cli.analyse.topology",
    "variants": "dartboard.cli.analyse.variants",
    "convergence": "dartboard.cli.analyse.convergence",
    "landscape": "dartboard.cli.analyse.landscape",
    "line": "dartboard.cli.analyse.line",
    "hessian": "dartboard.cli.analyse.hessian",
    "trajectory": "dartboard.cli.analyse.trajectory",
    "attention": "dartboard.cli.analyse.attention",
    "stability": "dartboard.cli.analyse.stability",
}
"""The module of each tool."""


def configure(parser: ArgumentParser) -> None:
    """Declare the tools."""
    add_commands(parser, TOOLS, title="tools", name="tool", parent="analyse")
