"""Search with several methods and seeds, and ask a benchmark how good what they found is.

Each search is an ordinary run in OUT/runs; when it is over, the oracle is asked about the cell of each epoch,
and a small record is written. From the records come a table and pictures, beside random search and evolution
that ask the oracle itself. Settings such as epochs=25 are of all searches, methods.gdas.epochs=50 of one
method, and queries=100 draws=200 correlation=50 of the bench itself. Ctrl-C saves and stops; the same command
resumes, and with more methods or seeds the table grows.
"""

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
    prepare_device,
    split_executor_words,
)
from dartboard.cli.exit_codes import FAILED
from dartboard.cli.processes import report_stop, stop_on_signals
from dartboard.cli.render import GAP, Terminal, print_json, progress, table_texts
from dartboard.errors import DartboardError, OptionError, Stopped
from dartboard.jobs.job import JobResult, Monitor
from dartboard.utils.text import span

if TYPE_CHECKING:
    from dartboard.cli.display import Display
    from dartboard.jobs.loops import LoopBuilder
    from dartboard.scoreboard.bench import BenchSearch
    from dartboard.scoreboard.config import BenchConfig
    from dartboard.scoreboard.scoreboard import Scoreboard
    from dartboard.scoreboard.scored_search import Scoring
    from dartboard.tables import Table

COLORS = {"better": "green", "worse": "red"}
"""Colors of the names of methods, by their verdict."""
SEARCH_FLAGS = ("jobs", "executor", "threads", "device", "fall_back")
"""Flags that only matter if there is something to search."""


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
            self._display.say([f"{lead}  {result.state}, retried: {result.error or 'no reason given'}"])
        elif result.state in ("finished", "failed"):
            self._done, self._left = self._done + 1, self._left - 1
            record = self._scoring.record(search) if result.state == "finished" else None
            score = f"failed: {result.error}"
            if record is not None:
                final = record.final
                dataset, test = next(iter(final.test.items()))
                time = "" if final.seconds is None else f"  {span(final.seconds)}"
                score = f"{final.epoch} epoch{'' if final.epoch == 1 else 's'}  {dataset} {test:.2%}{time}"
            pace = (monotonic() - self._start) / self._done
            ahead = f"{self._left} left, {span(pace * self._left)}" if self._left else "none left"
            self._display.say([f"{lead}  {score}  {ahead}"])


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("overrides", nargs="*", metavar="KEY=VALUE", help="any setting, such as epochs=25 or draws=100")
    add("--config", metavar="FILE", help="settings in YAML, such as the bench.yaml of a bench")
    add("--space", metavar="S", help="search space; see dartboard list spaces")
    add("--data", metavar="D", help="images to search with; see dartboard list datasets")
    add(
        "--oracle",
        metavar="O",
        help="benchmark that scores the cells; see dartboard list oracles (default: the space's)",
    )
    add("--table", type=Path, metavar="PATH", help="the oracle's file, unless it comes with the package")
    add("--methods", metavar="A,B,C", help="search methods; see dartboard list methods")
    add("--seeds", metavar="SEEDS", help="0-9 for a range, 0,3,5 for single ones; a number is that one seed")
    add("--out", metavar="DIR", help="directory of the bench (default: runs/bench-SPACE-DATA)")
    add("--results", type=Path, metavar="DIR", help="directory of the records (default: OUT/records)")
    add_executor_flags(parser, "searches")
    add("--threads", type=positive, metavar="N", help="threads of each process (default: 1)")
    add("--device", metavar="D", help="where to compute (default: cuda if there is one, else cpu)")
    add("--fall-back", action="store_true", help="resume from an older checkpoint if the last is damaged")
    add_plugins(parser)
    add("--show", action="store_true", help="search nothing; print the table of the searches so far")
    add("--json", action="store_true", help="print one JSON object instead of the table")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """Run the searches that are missing, and print the table."""
    from dartboard.scoreboard.bench import CONFIG, RECORDS, check_space, oracle_name, plan_jobs
    from dartboard.scoreboard.bench_result import check_queries
    from dartboard.scoreboard.records import read_records, record_files
    from dartboard.scoreboard.scoreboard import check_records
    from dartboard.tables import load_table

    ignored = [name for name in SEARCH_FLAGS if getattr(args, name) not in (None, False)]
    if args.show and ignored:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in ignored)
        raise UsageError(f"--show searches nothing; leave out {flags}")
    args.plugin = load_plugins(args.plugin)
    args.executor_words, args.overrides = split_executor_words(args.overrides)
    config = _load_config(args)
    out = _out(args, config)
    records: Path = args.results or out / RECORDS
    if args.show and not (out / CONFIG).exists() and not record_files(records):
        raise UsageError(
            f"no bench in {out}; name its directory with --out, or leave out --show to begin one"
        )
    jobs = plan_jobs(config)
    oracle = load_table(oracle_name(config), args.table)
    check_space(config, oracle)
    check_queries(config, oracle)
    if args.show:
        return _score(args, config, out, records, oracle, {})
    check_records(read_records(records), oracle)  # fail before the searches
    failed = _run_searches(args, config, jobs, out, records)
    return failed if isinstance(failed, int) else _score(args, config, out, records, oracle, failed)


def _load_config(args: Namespace) -> "BenchConfig":
    """The settings; by default those of the bench that the directory has."""
    from dartboard.scoreboard.bench import CONFIG, read_config

    if args.config is not None:
        return _load_file(args, args.config)
    out = Path(args.out) if args.out is not None else _out(args, _load_file(args, None))
    if not os.path.lexists(out / CONFIG):
        return _load_file(args, None)
    read_config(out)  # raises if it is not the bench's own file
    return _load_file(args, str(out / CONFIG))


def _load_file(args: Namespace, file: str | None) -> "BenchConfig":
    from dartboard.scoreboard.config import load_bench

    bench = {key: value for key in ("oracle", "seeds") if (value := getattr(args, key)) is not None}
    search = {key: value for key in ("space", "data") if (value := getattr(args, key)) is not None}
    return load_bench(
        file=file,
        environment=os.environ,
        flags={**bench, "search": search | ({"plugins": args.plugin} if args.plugin else {})},
        words=args.overrides,
        labels=None if args.methods is None else args.methods.split(","),
    )


def _out(args: Namespace, config: "BenchConfig") -> Path:
    """The directory of the bench."""
    from dartboard.scoreboard.bench import common_search

    if args.out is not None:
        return Path(args.out)
    search = common_search(config)
    return RUNS / f"bench-{Path(search.space.name).stem}-{Path(search.data.name).stem}"


def _run_searches(
    args: Namespace, config: "BenchConfig", searches: "Sequence[BenchSearch]", out: Path, records: Path
) -> dict[str, str] | int:
    """Run the searches that have no record yet.

    Returns:
        Why searches failed, by name; or the exit code if a signal stopped them.
    """
    from dartboard.cli.display import RunLines, choose_display
    from dartboard.jobs.executors.local import InlineExecutor
    from dartboard.jobs.loops import LoopBuilder
    from dartboard.jobs.queue import JobQueue
    from dartboard.jobs.runner import JobRunner, kind_of
    from dartboard.scoreboard.bench import join_config, oracle_name, write_config
    from dartboard.scoreboard.scored_search import Scoring

    join_config(out, config)  # fail fast, before images are loaded
    device = prepare_device(args.device, args.threads or 1)
    scoring = Scoring(
        runs=out / "runs",
        records=records,
        table_name=oracle_name(config),
        table_file=args.table,
        correlation=config.correlation,
        device=str(device),
        plugins=tuple(args.plugin),
        fall_back=args.fall_back,
    )
    jobs = {search.name: scoring.job(search) for search in searches}
    missing = [search for search in searches if kind_of(jobs[search.name]).status(jobs[search.name]) is None]
    builder = LoopBuilder(device)
    _build_each(args, missing, builder)
    executor = make_executor(args, args.executor_words, threads=args.threads or 1)
    executor = executor or InlineExecutor(JobRunner(builder=builder))
    display = choose_display(quiet=args.quiet, json=args.json, live=None, lines=RunLines)
    try:
        records.mkdir(parents=True, exist_ok=True)
        NamedTemporaryFile(dir=records).close()
    except OSError as error:
        raise OptionError(f"records cannot be written to {records}: {error.strerror}") from None
    write_config(out, config)
    display.say([describe(config, len(searches), len(missing), str(device)), f"writing to {out}"])
    monitor = SearchLines(scoring, {search.name: search for search in searches}, len(missing), display)
    queue = JobQueue(executor, monitor=monitor)
    with stop_on_signals(queue.stop) as caught:
        try:
            results = list(queue.run([jobs[search.name] for search in missing]))
            return {result.job.name: result.error for result in results if result.state == "failed"}
        except (Stopped, KeyboardInterrupt) as stop:
            return report_stop(stop, caught)
        finally:
            executor.close()


def _build_each(args: Namespace, searches: "Sequence[BenchSearch]", builder: "LoopBuilder") -> None:
    """Build one search of each method, so that mistakes show before the first one runs."""
    from dartboard.search.config import check_names

    with progress(quiet=args.quiet) as builder.progress:
        for label, search in {search.label: search for search in searches}.items():
            try:
                check_names(search.config.space.name, search.config.data.name)
                builder.build("search", search.settings())
            except DartboardError as error:
                raise OptionError(f"methods.{label}: {error}") from None
    builder.progress = None


def describe(config: "BenchConfig", count: int, missing: int, device: str) -> str:
    """What a bench of `count` searches is about to do, of which some are missing."""
    from dartboard.scoreboard.bench import common_search

    search, searches = common_search(config), "1 search" if count == 1 else f"{count} searches"
    text = f"{searches} of {search.space.name} on {search.data.name}, on {device}"
    return text if missing == count else f"{text}: {count - missing} done, {missing} to do"


def _score(
    args: Namespace,
    config: "BenchConfig",
    out: Path,
    records: Path,
    oracle: "Table",
    failed: dict[str, str],
) -> int:
    """Write and print the table of all searches of the directory; returns the exit code."""
    from dartboard.scoreboard.bench import join_config
    from dartboard.scoreboard.bench_result import score_bench

    score = score_bench(join_config(out, config), records, oracle)
    if not args.json:
        print_table(score.table)
    written = [str(path) for path in score.write(out, oracle)]
    if args.json:
        facts: dict[str, Any] = {"out": str(out), "failed": failed, "written": written}
        print_json(facts | {"table": score.table.facts()})
    for name, reason in failed.items():
        print(f"dartboard: {name} failed: {reason}", file=sys.stderr)
    return FAILED if failed else 0


def print_table(table: "Scoreboard") -> None:
    """Print the scoreboard and its remarks.

    On a terminal that is too narrow the columns go on below, again with the names of the methods; in a pipe
    every row is one line.
    """
    terminal = Terminal()
    terminal.write(scoreboard_lines(table, terminal.table_width))


def scoreboard_lines(table: "Scoreboard", width: int) -> Iterator[Text | str]:
    """The scoreboard in lines of at most `width` characters, unless a single column is wider."""
    units = "accuracies, regrets and differences in %"
    yield Text(f"{table.oracle}, {table.architectures:,} architectures; {units}", "bold")
    styles = ["dim", *(COLORS.get(row.verdict, "cyan") for row in table.rows)]
    yield from table_texts(list(table.cells()), width, styles=styles)
    yield ""
    for remark in table.remarks:
        yield from wrap(remark, width, subsequent_indent=" " * GAP, break_on_hyphens=False)
