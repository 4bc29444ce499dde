"""Show what a trained supernet attends to, cell by cell: edges and ops as a heat map.

A search with attention (asm) has a map for each cell of its stack, the mean over the held-out images; the
strengths of other methods are shown for each kind of cell. The run must have its checkpoint and its images.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.analyse.networks import add_supernet_flags
from dartboard.cli.arguments import prepare_device
from dartboard.cli.render import print_results, progress

if TYPE_CHECKING:
    from dartboard.analysis.attention import AttentionMap

NUMBERS = "attention.json"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("search", metavar="RUN", help="the directory of a search")
    add_supernet_flags(parser)


def run(args: Namespace) -> int:
    """Print the strongest ops of each cell, and draw."""
    from dartboard.analysis.attention import attention, plot_attention

    device = prepare_device(args.device, None)
    with progress() as report_progress:
        maps = attention(args.search, device, fall_back=args.fall_back, progress=report_progress)
    facts = {"run": args.search, "maps": [heat_map.facts() for heat_map in maps]}
    print_results(args, facts, _lines(maps), lambda: {"attention": plot_attention(maps)}, NUMBERS)
    return 0


def _lines(maps: "Sequence[AttentionMap]") -> Iterator[Text | str]:
    for heat_map in maps:
        low, high = min(heat_map.means.values()), max(heat_map.means.values())
        weights = f"  mean weights of ops from {low:.4f} to {high:.4f}"
        yield Text.assemble((heat_map.title, "bold"), (weights, "dim"))
        counts = sorted(heat_map.strongest.items(), key=lambda item: -item[1])
        words = ", ".join(f"{op} on {count}" for op, count in counts)
        yield f"  strongest of {len(heat_map.edges)} edges: {words}"
