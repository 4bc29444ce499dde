"""Search with several methods and seeds, and ask a benchmark how good what they found is.

Each search is an ordinary run in OUT/runs; when it is over, the oracle is asked about the cell of each epoch,
and a small record is written. From the records come a table and pictures, beside random search and evolution
that ask the oracle itself. Words such as epochs=25 are settings of all searches, methods.gdas.epochs=50 those
of one method, and queries=100 draws=200 correlation=50 the bench's own. The same command again goes on;
with more methods or seeds the table grows. Ctrl-C saves and stops.
"""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from textwrap import wrap
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.arguments import (
    RUNS,
    UsageError,
    add_executor_flags,
    add_plugins,
    load_plugins,
    make_executor,
    positive,
    split_executor_words,
)
from dartboard.cli.render import Terminal
from dartboard.cli.signals import SIGNALLED
from dartboard.errors import DartboardError, OptionError, Stopped
from dartboard.jobs.job import JobResult
from dartboard.jobs.monitor import Monitor
from dartboard.utils.text import span

if TYPE_CHECKING:
    from dartboard.cli.display import Display
    from dartboard.jobs.loops import LoopBuilder
    from dartboard.scoreboard.config import BenchConfig
    from dartboard.scoreboard.jobs import BenchSearch
    from dartboard.scoreboard.scored_search import Scoring
    from dartboard.scoreboard.table import Scoreboard
    from dartboard.tables import Table


def plan(config: "BenchConfig", count: int, missing: int, device: str) -> str:
    """What a bench is about to do.

    Args:
        config: The bench.
        count: How many searches it has.
        missing: How many of them are still to do.
        device: Where.
    """
    from dartboard.scoreboard.jobs import common

    search, searches = common(config), "1 search" if count == 1 else f"{count} searches"
    what = f"{searches} of {search.space.name} on {search.data.name}, on {device}"
    return what if missing == count else f"{what}: {count - missing} done, {missing} to do"


class SearchLines(Monitor):
    """A line for each search of a bench that ends, with how many are left and for how long.

    Args:
        scoring: Where the records are.
        searches: All searches, by name.
        missing: Number of searches to run.
        display: Where to show them.
    """

    def __init__(
        self, scoring: "Scoring", searches: "Mapping[str, BenchSearch]", missing: int, display: "Display"
    ) -> None:
        self._scoring, self._searches, self._display = scoring, searches, display
        self._left, self._done, self._start = missing, 0, monotonic()
        self._waiting: set[str] = set()

    def on_end(self, result: JobResult, again: bool) -> None:
        search = self._searches[result.job.name]
        lead = f"{search.label}  seed {search.seed}"
        if result.state == "busy":
            if result.job.name not in self._waiting:
                self._display.say([f"{lead}  waits: {result.error}"])
            self._waiting.add(result.job.name)
        elif again:
            self._display.say([f"{lead}  {result.state}, begun again: {result.error or 'no reason given'}"])
        elif result.state in ("finished", "failed"):
            self._done, self._left = self._done + 1, self._left - 1
            pace = (monotonic() - self._start) / self._done
            ahead = f"{self._left} left, {span(pace * self._left)}" if self._left else "none left"
            self._display.say([f"{lead}  {self._score(search, result)}  {ahead}"])

    def _score(self, search: "BenchSearch", result: JobResult) -> str:
        record = self._scoring.record(search) if result.state == "finished" else None
        if record is None:
            return f"failed: {result.error}"
        final = record.final
        dataset, test = next(iter(final.test.items()))
        time = "" if final.seconds is None else f"  {span(final.seconds)}"
        return f"{final.epoch} epoch{'' if final.epoch == 1 else 's'}  {dataset} {test:.2%}{time}"


Columns = list[tuple[str, ...]]
"""Each column from its name down."""

GAP = 2
COLOURS = {"better": "green", "worse": "red"}
"""Of the names of methods, by what is said of them."""


def print_table(table: "Scoreboard") -> None:
    """Prints the scoreboard and its remarks.

    On a terminal that is too narrow the columns go on below, again with the names of the methods; in a pipe
    every row is one line.
    """
    terminal = Terminal()
    terminal.write(table_lines(table, terminal.width if terminal.is_terminal else sys.maxsize))


def table_lines(table: "Scoreboard", width: int) -> Iterator[Text | str]:
    """The scoreboard in lines of at most `width` characters, where single columns are no wider."""
    said = f"{table.oracle}, {table.architectures:,} architectures; accuracies, regrets and differences in %"
    yield Text(said, "bold")
    names, *others = zip(*table.cells(), strict=True)
    styles = ["dim", *(COLOURS.get(row.verdict, "cyan") for row in table.rows)]
    for place, block in enumerate(_blocks(others, width - _wide(names))):
        yield from [""] if place else []
        yield from _lines(names, block, styles)
    yield ""
    for remark in table.remarks:
        yield from wrap(remark, width, subsequent_indent=" " * GAP, break_on_hyphens=False)


def _blocks(columns: Sequence[tuple[str, ...]], room: int) -> Iterator[Columns]:
    """The columns in groups that have room beside each other, each of one at least."""
    block: Columns = []
    for column in columns:
        if block and sum(map(_wide, [*block, column])) + GAP * (len(block) + 1) > room:
            yield block
            block = []
        block.append(column)
    yield block


def _lines(names: Sequence[str], block: Columns, styles: Sequence[str]) -> Iterator[Text]:
    rows = zip(names, styles, *block, strict=True)
    for place, (name, style, *cells) in enumerate(rows):
        numbers = [cell.rjust(_wide(own) + GAP) for cell, own in zip(cells, block, strict=True)]
        yield Text.assemble((name.ljust(_wide(names)), style), ("".join(numbers), "" if place else "dim"))


def _wide(column: Sequence[str]) -> int:
    return max(map(len, column))


FAILED = 1
SEARCHING = ("jobs", "executor", "threads", "device", "fall_back")
"""Options that matter to searches alone."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as epochs=25 or draws=100")
    add("--config", metavar="FILE", help="settings in YAML, such as the bench.yaml of a bench")
    add("--space", metavar="S", help="what to search; see dartboard list spaces")
    add("--data", metavar="D", help="images to search with; see dartboard list datasets")
    add(
        "--oracle", metavar="O", help="who knows the cells; see dartboard list oracles (default: the space's)"
    )
    add("--table", type=Path, metavar="PATH", help="the oracle's file, unless it comes with the package")
    add("--methods", metavar="A,B,C", help="how to search; see dartboard list methods")
    add("--seeds", metavar="SEEDS", help="0-9 for a range, 0,3,5 for single ones; a number is that one seed")
    add("--out", metavar="DIR", help="directory of the bench (default: runs/bench-SPACE-DATA)")
    add("--results", type=Path, metavar="DIR", help="directory of the records (default: OUT/records)")
    add_executor_flags(parser, "searches")
    add("--threads", type=positive, metavar="N", help="threads of each process (default: 1)")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--fall-back", action="store_true", help="go on from an older checkpoint if the last is damaged")
    add_plugins(parser)
    add("--show", action="store_true", help="search nothing; make the table of what is there")
    add("--json", action="store_true", help="print one JSON object instead of the table")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Do what is missing, and print the table."""
    _check_show(args)
    args.executor_words, args.overrides = split_executor_words(args.overrides)
    from dartboard.scoreboard.jobs import check_space, oracle_name, plan_jobs
    from dartboard.scoreboard.score import check_queries
    from dartboard.tables import load_table

    config = _configure(args)
    out = _out(args, config)
    _check_there(args, out)
    jobs = plan_jobs(config)
    oracle = load_table(oracle_name(config), args.table)
    check_space(config, oracle)
    check_queries(config, oracle)
    if args.show:
        return _score(args, config, out, oracle, {})
    _check_records(args, out, oracle)
    found = _run(args, config, jobs, out)
    return found if isinstance(found, int) else _score(args, config, out, oracle, found)


def _check_show(args: Namespace) -> None:
    """Refuses what has no effect where nothing is searched."""
    given = [name for name in SEARCHING if getattr(args, name) not in (None, False)]
    if args.show and given:
        words = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"--show searches nothing; leave out {words}")


def _check_there(args: Namespace, out: Path) -> None:
    """Refuses to show what is not there."""
    from dartboard.scoreboard.records import record_files
    from dartboard.scoreboard.store import CONFIG

    if args.show and not (out / CONFIG).exists() and not record_files(_records(args, out)):
        raise UsageError(
            f"no bench in {out}; name its directory with --out, or leave out --show to begin one"
        )


def _configure(args: Namespace) -> "BenchConfig":
    """The settings; a directory that has a bench says those that are not given."""
    from dartboard.scoreboard.store import CONFIG

    plugins = load_plugins(args.plugin)
    if args.config is not None:
        return _load(args, plugins, args.config)
    out = Path(args.out) if args.out is not None else _out(args, _load(args, plugins, None))
    return _load(args, plugins, str(out / CONFIG) if (out / CONFIG).exists() else None)


def _load(args: Namespace, plugins: list[str], file: str | None) -> "BenchConfig":
    from dartboard.scoreboard.config import load_bench

    search = {key: value for key in ("space", "data") if (value := getattr(args, key)) is not None}
    own = {key: value for key in ("oracle", "seeds") if (value := getattr(args, key)) is not None}
    return load_bench(
        file=file,
        environment=os.environ,
        flags={**own, "search": search | ({"plugins": plugins} if plugins else {})},
        words=args.overrides,
        labels=None if args.methods is None else args.methods.split(","),
    )


def _out(args: Namespace, config: "BenchConfig") -> Path:
    from dartboard.scoreboard.jobs import common

    if args.out is not None:
        return Path(args.out)
    search = common(config)
    return RUNS / f"bench-{Path(search.space.name).stem}-{Path(search.data.name).stem}"


def _records(args: Namespace, out: Path) -> Path:
    folder: Path = args.results or out / "records"
    return folder


def _check_records(args: Namespace, out: Path, oracle: "Table") -> None:
    """Refuses what the table would refuse: that is better known before the searches."""
    from dartboard.scoreboard.records import read_records
    from dartboard.scoreboard.table import check_records

    check_records(read_records(_records(args, out)), oracle)


def _run(
    args: Namespace, config: "BenchConfig", searches: "Sequence[BenchSearch]", out: Path
) -> dict[str, str] | int:
    """Runs what is missing: errors of the searches that failed, by name, or the exit code after a signal."""
    from dartboard.cli.arguments import prepare_device
    from dartboard.cli.display import choose_lines
    from dartboard.cli.signals import stop_on_signals
    from dartboard.jobs.executors.inline import InlineExecutor
    from dartboard.jobs.loops import LoopBuilder
    from dartboard.jobs.queue import JobQueue
    from dartboard.jobs.runner import JobRunner, status
    from dartboard.scoreboard.jobs import oracle_name
    from dartboard.scoreboard.scored_search import Scoring
    from dartboard.scoreboard.store import joined, keep_config

    joined(out, config)  # fail fast, before images are loaded
    device = prepare_device(args.device, args.threads or 1)
    scoring = Scoring(
        runs=out / "runs",
        records=_records(args, out),
        oracle=oracle_name(config),
        table=args.table,
        correlation=config.correlation,
        device=str(device),
        plugins=tuple(load_plugins(args.plugin)),
        fall_back=args.fall_back,
    )
    jobs = {search.name: scoring.job(search) for search in searches}
    missing = [search for search in searches if status(jobs[search.name]) is None]
    builder = LoopBuilder(device)
    _build_each(args, missing, builder)
    executor = make_executor(args, args.executor_words, threads=args.threads or 1)
    executor = executor or InlineExecutor(JobRunner(builder=builder))
    display = choose_lines(quiet=args.quiet, json=args.json)
    _make_folder(scoring.records)
    keep_config(out, config)
    display.say([plan(config, len(searches), len(missing), str(device)), f"writing to {out}"])
    monitor = SearchLines(scoring, {search.name: search for search in searches}, len(missing), display)
    queue = JobQueue(executor, monitor=monitor)
    with stop_on_signals(queue.stop) as caught:
        try:
            results = list(queue.run([jobs[search.name] for search in missing]))
            return {result.job.name: result.error for result in results if result.state == "failed"}
        except (Stopped, KeyboardInterrupt) as stopped:
            print(f"{str(stopped) or 'interrupted'}; the same command goes on", file=sys.stderr)
            return SIGNALLED + caught[0] if caught else 0
        finally:
            executor.close()


def _make_folder(folder: Path) -> None:
    """Makes the folder of the records, which is better known to be impossible before the searches."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        NamedTemporaryFile(dir=folder).close()
    except OSError as error:
        raise OptionError(f"records cannot be written to {folder}: {error.strerror}") from None


def _build_each(args: Namespace, searches: "Sequence[BenchSearch]", builder: "LoopBuilder") -> None:
    """Builds one search of each method, so that what is wrong is known before the first one runs."""
    from dartboard.cli.progress import progress

    with progress(quiet=args.quiet) as builder.progress:
        for label, search in {search.label: search for search in searches}.items():
            try:
                builder.build("search", search.settings())
            except DartboardError as error:
                raise OptionError(f"methods.{label}: {error}") from None
    builder.progress = None


def _score(args: Namespace, config: "BenchConfig", out: Path, oracle: "Table", failed: dict[str, str]) -> int:
    """Prints and writes the table of all that the directory has been asked for."""
    from dartboard.scoreboard.score import score_bench
    from dartboard.scoreboard.store import joined

    score = score_bench(joined(out, config), _records(args, out), oracle)
    if not args.json:
        print_table(score.table)
    written = [str(path) for path in score.write(out, oracle)]
    if args.json:
        facts: dict[str, Any] = {"out": str(out), "failed": failed, "written": written}
        print(json.dumps(facts | {"table": score.table.facts()}))
    for name, reason in failed.items():
        print(f"dartboard: {name} failed: {reason}", file=sys.stderr)
    return FAILED if failed else 0
