"""Redo figures and tables of the papers, and set what comes out beside what they report.

Each finishes in minutes by default, and says before how many; --full takes the paper's own numbers, for
a GPU. Numbers, pictures and a page are written to OUT/NAME. The same command resumes what was
stopped. Settings such as epochs=5 change how large it is; --list says what there is.
"""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import RUNS, UsageError, add_executor_flags, positive, split_executor_words
from dartboard.cli.exit_codes import FAILED, SIGNALLED
from dartboard.cli.render import print_json, progress
from dartboard.errors import DartboardError, one_line

if TYPE_CHECKING:
    from dartboard_papers import Reproduction, RunOptions

ALL = "all"
RUN_ARGUMENTS = (
    "overrides",
    "full",
    "data",
    "table",
    "out",
    "jobs",
    "executor",
    "threads",
    "device",
    "quiet",
)
"""Arguments of a run, which --list refuses."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="which one, such as xnas-figure-3; all for every one")
    add("overrides", nargs="*", metavar="KEY=VALUE", help="how large it is, such as epochs=5 seeds=2")
    add("--list", action="store_true", help="say what there is; with a NAME, the numbers that it takes")
    add("--full", action="store_true", help="the paper's own numbers")
    add("--data", metavar="D", help="images in the place of its own; see dartboard list datasets")
    add("--table", type=Path, metavar="PATH", help="the file of the benchmark that it asks, or its folder")
    add("--out", type=Path, metavar="DIR", help="where folders of reproductions are (default: runs/papers)")
    add_executor_flags(parser, "searches and trainings")
    add("--threads", type=positive, metavar="N", help="threads of this process on a CPU")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add("--json", action="store_true", help="print one JSON object instead")
    add("--quiet", action="store_true", help="show nothing while it runs")


def run(args: Namespace) -> int:
    """List the reproductions, or run one or all of them."""
    if args.list:
        return _list(args)
    if args.name is None:
        raise UsageError("reproduce needs the NAME of a figure or table, or --list to see them")
    words, args.overrides = split_executor_words(args.overrides)
    if args.name == ALL and args.overrides:
        raise UsageError(f"all of them have no {args.overrides[0]!r} in common; name one")
    from dartboard.cli.arguments import choose_executor, prepare_device
    from dartboard.cli.processes import interrupt_on_signals
    from dartboard.jobs.executors import check_executor
    from dartboard_papers import REPRODUCTIONS, RunOptions

    chosen = None if args.name == ALL else REPRODUCTIONS[args.name]
    device = prepare_device(args.device, args.threads)
    out = args.out or RUNS / "papers"
    options = RunOptions(out, args.data, args.table, device, args.jobs or 1, full=args.full)
    if args.executor is not None or words:  # else each reproduction decides how many processes it can use
        executor = choose_executor(args, words, threads=1)
        if executor is not None:
            check_executor(*executor)
            options = replace(options, executor=executor[0], executor_options=executor[1])
    with interrupt_on_signals() as caught:
        try:
            if chosen is None:
                return _run_all(args, options)
            facts = _run_one(args, chosen, options)
        except KeyboardInterrupt:
            print("interrupted; run the same command to resume", file=sys.stderr)
            return SIGNALLED + caught[0]
    if args.json:
        print_json(facts)
    return 0


def _run_all(args: Namespace, options: "RunOptions") -> int:
    """Runs one after the other, each with the inputs it takes; one that fails does not stop the others."""
    from dartboard_papers import in_order
    from dartboard_papers.runner import choose_scale

    facts: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for reproduction in in_order():
        missing = reproduction.missing_inputs(options, choose_scale(reproduction, full=args.full))
        if missing:
            flags = " and ".join(f"--{key}" for key in missing)
            left_out[reproduction.name] = f"it needs {flags}"
            print(f"dartboard: {reproduction.name} is left out: it needs {flags}", file=sys.stderr)
            continue
        unused: dict[str, Any] = dict.fromkeys({"data", "table"} - set(reproduction.takes))
        try:
            facts.append(_run_one(args, reproduction, replace(options, **unused)))
        except (DartboardError, OSError) as error:
            failed[reproduction.name] = one_line(error)
            print(f"dartboard: {reproduction.name} failed: {one_line(error)}", file=sys.stderr)
    if args.json:
        print_json({"reproductions": facts, "failed": failed, "left_out": left_out})
    return FAILED if failed else 0


def _run_one(args: Namespace, reproduction: "Reproduction[Any]", options: "RunOptions") -> dict[str, Any]:
    """Runs a reproduction and prints its result, unless that is printed as JSON; returns what that has."""
    from dartboard_papers.cli.render import print_heading, print_record
    from dartboard_papers.runner import check_options, choose_scale, reproduce

    scale = choose_scale(reproduction, args.overrides, full=args.full)
    folder = options.folder / reproduction.name
    check_options(reproduction, scale, options)
    if not args.json:
        print_heading(reproduction, scale, options)
    with progress(quiet=args.quiet) as tell:
        record = reproduce(reproduction.name, scale, replace(options, tell=tell), folder)
    if not args.json:
        print_record(record, folder)
    return {"out": str(folder)} | record.facts()


def _list(args: Namespace) -> int:
    from dartboard_papers import REPRODUCTIONS, in_order
    from dartboard_papers.cli.render import facts, print_list, print_one

    used = [name for name in RUN_ARGUMENTS if getattr(args, name) not in (None, False, [])]
    if used:
        word = args.overrides[0] if used[0] == "overrides" else f"--{used[0]}"
        raise UsageError(f"--list does nothing but say what there is; leave out {word}")
    every = args.name in (None, ALL)
    chosen = in_order() if every else [REPRODUCTIONS[args.name]]
    if args.json:
        print_json({item.name: facts(item) for item in chosen})
    elif every:
        print_list(chosen)
    else:
        print_one(chosen[0])
    return 0
