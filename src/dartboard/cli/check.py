"""Check that a device computes what the CPU computes.

Every method is searched for two steps on the device and on the CPU, from the same weights and with the same
images. A third step is resumed from a checkpoint, and the steps are repeated in half precision and in two
processes. One search is compiled; one network is trained, and exported in every format. The table is made to
be pasted into an issue. The exit code is 1 if a check failed.
"""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.arguments import add_plugins, load_plugins, prepare_device
from dartboard.cli.exit_codes import FAILED
from dartboard.cli.render import LABEL_WIDTH, Terminal, print_json, progress, table_lines
from dartboard.utils.text import plural

if TYPE_CHECKING:
    from dartboard.diagnostics import CheckRow

HEADINGS = ("check", "of", "result", "difference", "allowed", "seconds", "")
COLORS = {"FAILED": "red", "skipped": "dim"}


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("--device", metavar="D", help="cuda, mps or cpu (default: a GPU if there is one)")
    add("--only", nargs="+", metavar="METHOD", help="these methods instead of all")
    add("--threads", type=int, metavar="N", help="cores to compute with (default: all)")
    add("--json", action="store_true", help="print one JSON object instead")
    add_plugins(parser)


def run(args: Namespace) -> int:
    """Print the machine and a row for each check; returns 1 if one failed."""
    plugins = load_plugins(args.plugin)
    device = prepare_device(args.device, args.threads)
    from dartboard.diagnostics import check_device, describe_machine

    machine = describe_machine(device)
    with progress() as report_progress:
        rows = check_device(device, args.only, plugins=plugins, progress=report_progress)
    failed = sum(row.state == "FAILED" for row in rows)
    if args.json:
        facts: dict[str, Any] = {
            "machine": machine,
            "ok": not failed,
            "checks": [row.facts() for row in rows],
        }
        print_json(facts)
        return FAILED if failed else 0
    terminal = Terminal()
    terminal.write(f"{label.ljust(LABEL_WIDTH)}{value}" for label, value in machine.items())
    terminal.write(["", *_table(rows), "", _summary(rows)])
    return FAILED if failed else 0


def _table(rows: "list[CheckRow]") -> list[Text]:
    """A line for each check, below the headings."""
    texts = [HEADINGS]
    for row in rows:
        worst = row.worst
        difference, allowed = ("", "") if worst is None else (f"{worst[1]:.1e} {worst[0]}", f"{worst[2]:.0e}")
        texts.append((row.check, row.subject, row.state, difference, allowed, f"{row.seconds:.1f}", row.note))
    styles = ["bold", *(COLORS.get(row.state, "") for row in rows)]
    return [Text(line, style) for line, style in zip(table_lines(texts), styles, strict=True)]


def _summary(rows: "list[CheckRow]") -> str:
    counts = {state: sum(row.state == state for row in rows) for state in ("ok", "FAILED", "skipped")}
    parts = [f"{count} {state}" for state, count in counts.items() if count]
    return f"{plural(len(rows), 'check')}: {', '.join(parts)}"
