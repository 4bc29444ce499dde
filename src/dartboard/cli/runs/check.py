"""Check that the files of runs are as they were written.

Every file is compared with its checksum; sweeps, protocols and benches are checked with all runs inside. The
exit code is 1 if a file is damaged. Runs of versions that wrote no checksums are listed as such.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.arguments import RUNS, UsageError
from dartboard.cli.exit_codes import FAILED
from dartboard.cli.render import Terminal, print_json
from dartboard.utils.text import plural

if TYPE_CHECKING:
    from dartboard.runs.check import FolderCheck


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    text = f"a run, or a folder with runs inside (default: {RUNS})"
    add("paths", nargs="*", type=Path, default=[RUNS], metavar="RUN", help=text)
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print what was found in each directory; returns 1 if there is damage."""
    from dartboard.runs.check import check_folder, find_folders

    for path in args.paths:
        if not path.is_dir():
            raise UsageError(f"there is no folder {path} to check")
    folders = dict.fromkeys(folder for path in args.paths for folder in find_folders(path))
    if not folders:
        raise UsageError(f"no runs in {', '.join(map(str, args.paths))}")
    checks = [check_folder(folder) for folder in folders]
    if args.json:
        facts = [asdict(one) | {"path": str(one.path), "state": one.verdict} for one in checks]
        print_json({"runs": facts})
    else:
        terminal = Terminal()
        for one in checks:
            terminal.write(_lines(one))
    return FAILED if any(one.faults for one in checks) else 0


def _lines(check: "FolderCheck") -> Iterator[Text]:
    what = {"good": f"good, {plural(check.files, 'file')}"}.get(check.verdict, check.verdict)
    missing = f"; {plural(len(check.unlisted), 'file')} without a checksum" if check.unlisted else ""
    more = missing if check.verdict == "good" else ""
    yield Text(f"{check.path}: {what}{more}", "red" if check.faults else "")
    for fault in check.faults:
        yield Text(f"  {fault.file} {fault.reason}", "red")
        yield Text(f"    works without it: {fault.works}", "dim")
