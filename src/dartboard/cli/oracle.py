"""Look architectures up in benchmarks instead of training them.

`oracle query NAME GENOTYPE --table PATH` says how well an architecture does on each data set of a benchmark,
what its network costs, and where it stands among all others. `oracle import NAME SOURCE --out TABLE` makes
such a table from the official files of a benchmark. docs/oracles.md says which files those are.
"""

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.render import Terminal, print_json, progress, table_texts
from dartboard.errors import TableError
from dartboard.runs.lookup import find_genotype
from dartboard.space import GENOTYPE_FORMATS

if TYPE_CHECKING:
    from dartboard.tables import Record, Standing, Table

HEAD: tuple[str, ...] = ("", "valid", "test", "best", "regret", "rank", "percentile", "parameters", "FLOPs")
"""Names of the columns."""
SHOWN = 8
"""Isomorphic architectures that are shown."""
Results = dict[str, tuple["Record", "Standing", float]]
"""By data set: record and standing of an architecture, and the best test accuracy of all."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(title="what to do", dest="action", metavar="ACTION", required=True)
    query = actions.add_parser("query", help="say what a benchmark knows of an architecture")
    query.add_argument("oracle", metavar="NAME", help="the benchmark, such as nb201")
    query.add_argument(
        "genotype",
        metavar="GENOTYPE",
        help="a genotype in any notation, a file with one, or a run's directory",
    )
    query.add_argument(
        "--table", type=Path, metavar="PATH", help="the benchmark's file; nano ships with the package"
    )
    query.add_argument("--json", action="store_true", help="print one JSON object instead")
    query.set_defaults(run=_query)
    convert = actions.add_parser("import", help="make a table from official files")
    convert.add_argument("oracle", metavar="NAME", help="the benchmark, such as nb201")
    convert.add_argument("source", type=Path, metavar="SOURCE", help="its official file or folder")
    convert.add_argument("--out", type=Path, metavar="TABLE", required=True, help="the file to write")
    convert.add_argument("--json", action="store_true", help="print one JSON object instead")
    convert.set_defaults(run=_import)


def _query(args: Namespace) -> int:
    from dartboard.tables import SupportsIsomorphic, load_table

    genotype = find_genotype(args.genotype)
    oracle = load_table(args.oracle, args.table)
    results: Results = {}
    for dataset in oracle.datasets:
        record, ranking = oracle.query(genotype, dataset), oracle.ranking(dataset)
        results[dataset] = record, ranking.standing(record.test), ranking.best
    same: list[str] | None = None  # other architectures that count as this one, where that is known
    if isinstance(oracle, SupportsIsomorphic):
        codec = GENOTYPE_FORMATS.get(oracle.space.name, GENOTYPE_FORMATS["json"])
        same = [codec.encode(twin) for twin in oracle.isomorphic(genotype)]
    if not args.json:
        terminal = Terminal()
        terminal.write(_lines(oracle, results, same, terminal.table_width))
        return 0
    facts = {"oracle": oracle.name, "architectures": len(oracle)}
    facts |= {"genotype": json.loads(GENOTYPE_FORMATS["json"].encode(genotype)), "isomorphic": same}
    datasets = {
        dataset: asdict(record) | asdict(standing) | {"best": best}
        for dataset, (record, standing, best) in results.items()
    }
    print_json(facts | {"datasets": datasets})
    return 0


def _import(args: Namespace) -> int:
    from dartboard.tables import IMPORTS

    convert = IMPORTS[args.oracle]
    if args.out.exists():
        raise TableError(f"{args.out} is there already; name another with --out, or remove it")
    if not os.access(args.out.parent, os.W_OK | os.X_OK):  # fail before an hour of reading
        raise TableError(f"{args.out}: {args.out.parent} is not a folder that can be written to")
    with progress() as report_progress:
        count = convert(args.source, args.out, report_progress)
    size = args.out.stat().st_size
    if args.json:
        print_json({"table": str(args.out), "architectures": count, "bytes": size})
    else:
        print(f"{args.out} holds {count:,} architectures in {size / 1000:,.0f} kB")
    return 0


def _lines(oracle: "Table", results: Results, same: list[str] | None, width: int) -> Iterator[Text | str]:
    yield Text(f"{oracle.name}, {len(oracle):,} architectures; accuracies and percentiles in %", "bold")
    rows = [HEAD]
    for dataset, (record, standing, best) in results.items():
        fractions = (record.valid, record.test, best, standing.regret)
        percents = ("-" if fraction is None else f"{100 * fraction:.2f}" for fraction in fractions)
        rank = (f"{standing.rank:,}", f"{100 * standing.percentile:.2f}")
        flops = "-" if record.flops is None else f"{record.flops:,}"
        rows.append((dataset, *percents, *rank, f"{record.parameters:,}", flops))
    yield from table_texts(rows, width)
    if same is not None:
        yield ""
        yield f"isomorphic: {len(same):,} other{'' if len(same) == 1 else 's'}"
        yield from same[:SHOWN]
        if len(same) > SHOWN:
            yield Text(f"and {len(same) - SHOWN:,} more, which --json lists", "dim")
