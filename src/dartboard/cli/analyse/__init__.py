"""Look into cells, networks and searches: their shape, how they learn, what the loss is like around them."""

from argparse import ArgumentParser, Namespace
from types import ModuleType

from dartboard.cli.analyse import (
    attention,
    convergence,
    hessian,
    landscape,
    stability,
    theory,
    topology,
    trajectory,
    variants,
)

TOOLS: dict[str, ModuleType] = {
    "topology": topology,
    "variants": variants,
    "convergence": convergence,
    "landscape": landscape,
    "hessian": hessian,
    "trajectory": trajectory,
    "attention": attention,
    "stability": stability,
    "theory": theory,
}
"""Each tool is a module with a docstring, `configure(parser)` and `run(args)`."""


def configure(parser: ArgumentParser) -> None:
    """Declare the tools and their arguments."""
    tools = parser.add_subparsers(title="tools", dest="tool", metavar="TOOL", required=True)
    for name, module in TOOLS.items():
        brief = (module.__doc__ or "").split(".")[0]
        tool = tools.add_parser(name, help=brief, description=module.__doc__, allow_abbrev=False)
        module.configure(tool)
        tool.set_defaults(work=module.run)


def run(args: Namespace) -> int:
    """Use the tool that was named."""
    code: int = args.work(args)
    return code
