"""Get, show and find data sets.

`data get NAME` downloads a published data set, `data show NAME_OR_PATH` says what is in one, and `data where`
says in which folder they are looked for. Names are those of `dartboard list datasets`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.render import Terminal, print_json, progress
from dartboard.errors import UnknownNameError
from dartboard.utils.text import printable

ROOT = "the folder of data sets (default: $DARTBOARD_DATASETS, or see dartboard data where)"


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(title="what to do", dest="action", metavar="ACTION", required=True)
    get = actions.add_parser("get", help="download a published data set")
    get.add_argument("name", metavar="NAME", help="see dartboard list datasets")
    get.add_argument("--root", type=Path, metavar="DIR", help=ROOT)
    get.add_argument("--json", action="store_true", help="print one JSON object instead")
    get.set_defaults(run=_get)
    show = actions.add_parser("show", help="say what is in a data set")
    show.add_argument("name", metavar="NAME_OR_PATH", help="a data set, a file or a folder of images")
    show.add_argument("--root", type=Path, metavar="DIR", help=ROOT)
    show.add_argument("--json", action="store_true", help="print one JSON object instead")
    show.set_defaults(run=_show)
    where = actions.add_parser("where", help="say in which folders data sets are looked for")
    where.add_argument("--json", action="store_true", help="print one JSON object instead")
    where.set_defaults(run=_where)


def _get(args: Namespace) -> int:
    from dartboard.data import DATASETS, published_datasets
    from dartboard.data.download import download_dataset

    if args.name not in DATASETS:
        raise UnknownNameError("data set", args.name, DATASETS)
    dataset = published_datasets().get(args.name)
    place = None if dataset is None else dataset.locate_complete(args.root)
    text = f"{args.name} needs no download" if dataset is None else f"{args.name} is there already: {place}"
    missing = dataset is not None and place is None
    if missing:
        with progress() as report_progress:
            place = download_dataset(args.name, args.root, report_progress)
        text = f"{args.name} is in {place}"
    if args.json:
        path = None if place is None else str(place)
        print_json({"name": args.name, "path": path, "downloaded": missing})
    else:
        print(text)
    return 0


def _show(args: Namespace) -> int:
    from dartboard.data import LoadOptions, load_dataset

    broken: dict[str, str] = {}
    with progress() as report_progress:
        options = LoadOptions(root=args.root, progress=report_progress, broken=broken.__setitem__)
        facts = load_dataset(args.name, options).facts() | {"broken": broken}
    if args.json:
        print_json(facts)
    else:
        Terminal().write(_lines(facts))
    return 0


def _lines(facts: dict[str, Any]) -> Iterable[Text | str]:
    color = {1: "gray", 3: "color"}.get(facts["channels"], f"{facts['channels']} channels")
    yield Text(printable(facts["name"]), "bold")
    yield "images     " + ", ".join(f"{count:,} {kind}" for kind, count in facts["images"].items())
    yield f"size       {facts['width']} x {facts['height']} pixels, {color}"
    yield "mean       " + ", ".join(f"{value:.2f}" for value in facts["mean"])
    yield "deviation  " + ", ".join(f"{value:.2f}" for value in facts["deviation"])
    parts = list(facts["images"])
    classes = [(printable(name), counts) for name, counts in facts["classes"].items()]
    width = max(5, *(len(name) for name, _ in classes)) + 2
    yield ""
    yield Text("class".ljust(width) + "".join(part.rjust(9) for part in parts), "dim")
    for name, counts in classes:
        cells = "".join(f"{counts[part]:,}".rjust(9) for part in parts)
        yield Text.assemble((name.ljust(width), "cyan"), cells)
    if facts["broken"]:
        yield from ("", f"broken files, left out: {len(facts['broken']):,}")
        yield from (printable(f"{file}: {reason}") for file, reason in facts["broken"].items())


def _where(args: Namespace) -> int:
    from dartboard.data import data_root, published_datasets

    located = {name: dataset.locate_complete() for name, dataset in published_datasets().items()}
    places = {name: str(place) for name, place in located.items() if place is not None}
    if args.json:
        print_json({"root": str(data_root()), "datasets": places})
    else:
        Terminal().write([str(data_root()), *(f"{name}: {place}" for name, place in places.items())])
    return 0
