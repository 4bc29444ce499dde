"""Train cells side by side, on the same batches, and say which of them learns faster.

Each CELL is a published cell, a run's directory, a file with a genotype, or a genotype itself; --variants
adds random variants of each. All are trained from each of the seeds at each of the learning rates, without
regularization, on small networks unless settings such as epochs=50 net.channels=16 net.cells=8 say otherwise.
Trainings are ordinary runs in OUT/runs; curves and numbers are written to OUT. Ctrl-C saves and stops, and
the same command resumes; more cells, rates or seeds add to what is there. With --only some of the cells are
trained and drawn, named by their labels in the table, such as darts-v2-1 for the first variant of darts-v2;
they join the comparison in OUT, and the command without --only adds the others.

Networks that are no cells, timm:NAME and exported Python files, are compared among each other: they are
trained from fresh weights in this process, and a finished training is kept in OUT/modules. Opening an
exported .py file runs the code in it: open only files that you trust.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.analyse.networks import (
    SETTING,
    SMALL,
    candidates,
    fresh_network,
    is_module,
    unique_names,
)
from dartboard.cli.arguments import (
    RUNS,
    UsageError,
    add_executor_flags,
    add_plugins,
    load_plugins,
    make_executor,
    number,
    positive,
    prepare_device,
    split_executor_words,
)
from dartboard.cli.processes import interrupt_on_signals, report_stop, stop_on_signals
from dartboard.cli.render import Terminal, print_json, progress, table_texts, write_all
from dartboard.errors import Stopped, UnknownNameError
from dartboard.runs.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.space import Genotype, load_space
from dartboard.utils.processes import using_threads

if TYPE_CHECKING:
    from dartboard.analysis.comparison import Comparison

PLAIN = re.compile(r"[A-Za-z0-9][\w.+-]*")
MAX_LABEL = 40
"""Characters of an argument that can name a cell."""
KINDS = ("connections", "operations", "widest")
NUMBERS = "convergence.json"
MODULE_SETTINGS = ("epochs", "batch", "weights.momentum", "weights.weight_decay", "weights.clip")
"""Settings of the training of networks that are no cells."""
HEAD = ("", "width", "depth", "parameters", "loss area", "loss", "accuracy", "epochs to loss", "to accuracy")


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("cells", nargs="+", metavar="CELL", help="a published cell, a run, a file, a genotype; or timm:NAME")
    parser.set_defaults(overrides=[])  # settings such as epochs=10 that stand behind flags
    add("--variants", type=positive, metavar="N", help="number of random variants of each cell to add")
    add("--kind", choices=KINDS, help="what varies (default: connections); of the widest there is one")
    add("--seed", type=int, metavar="N", help="random seed of the variants (default: 0)")
    add("--only", nargs="+", metavar="CELL", help="of all these, train and draw those that are so labeled")
    add("--lr", type=rates, metavar="A,B", help="learning rates at the start (default: 0.025)")
    add("--seeds", type=seeds, metavar="SEEDS", help="0-2 for a range, 0,3 for single ones (default: 0)")
    add("--data", metavar="D", help="images; see dartboard list datasets (default: cluttered-digits)")
    add("--space", metavar="S", help="the space whose stack the cells go into (default: the first cell's)")
    add("--loss", type=number, metavar="L", help="count epochs to this loss (default: one that all reach)")
    add("--accuracy", type=number, metavar="A", help="count epochs to this accuracy, a share such as 0.8")
    add("--out", type=Path, metavar="DIR", help="default: runs/convergence-CELL-DATA")
    add_executor_flags(parser, "trainings")
    add("--device", metavar="D", help="device to compute on (default: cuda if there is one, else cpu)")
    add_plugins(parser)
    add("--json", action="store_true", help="print one JSON object instead of the table")
    add("--quiet", action="store_true", help="show nothing while it runs")


def rates(text: str) -> tuple[float, ...]:
    """Learning rates such as 0.0025,0.025."""
    try:
        lrs = tuple(float(part) for part in text.split(","))
    except ValueError:
        lrs = ()
    if not lrs or not all(0 < lr < float("inf") for lr in lrs):
        raise ArgumentTypeError(f"expected learning rates such as 0.0025,0.025, got {text!r}")
    return lrs


def seeds(text: str) -> tuple[int, ...]:
    """Seeds such as 0-2 or 0,3."""
    from dartboard.scoreboard.config import parse_seeds

    try:
        return parse_seeds(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def run(args: Namespace) -> int:
    """Train what is missing, write the curves and print the table."""
    only = [word for word in args.only or () if not SETTING.match(word)]
    settings_behind = [word for word in args.only or () if SETTING.match(word)]
    executor_words, words = split_executor_words([*args.cells, *args.overrides, *settings_behind])
    cell_words = [word for word in words if not SETTING.match(word)]
    settings = [word for word in words if SETTING.match(word)]
    _check(args, cell_words, settings)
    if any(map(is_module, cell_words)):
        return _run_modules(args, cell_words, settings, only)
    plugins = load_plugins(args.plugin)
    cells = _cells(args, cell_words)
    from dartboard.analysis.convergence import Comparer, ComparisonPlan, make_settings

    first, genotype = next(iter(cells.items()))
    space = load_space(args.space) if args.space else space_of_run(cell_words[0]) or home_of(genotype)
    flags: dict[str, Any] = {"space": space_name(cell_words[0], args.space, space), "plugins": plugins}
    flags |= {} if args.data is None else {"data": {"name": args.data}}
    config = make_settings(SMALL, flags, words=settings)
    for label in only:
        if label not in cells:
            raise UnknownNameError("cell of the comparison", label, cells)
    chosen = {label: cell for label, cell in cells.items() if not only or label in only}
    plan, device = ComparisonPlan.of(chosen, config), prepare_device(args.device, None)
    out: Path = args.out or RUNS / f"convergence-{first}-{Path(config.data.name).stem}"
    comparer = Comparer(plan, out, device)
    lrs, first_seeds = args.lr or (config.weights.lr,), args.seeds or (config.seed,)
    executor = make_executor(args, executor_words, threads=1)
    with stop_on_signals(comparer.stop) as caught:
        try:
            with progress(quiet=args.quiet) as report_progress:
                comparison = comparer.run(lrs, first_seeds, executor=executor, progress=report_progress)
        except (Stopped, KeyboardInterrupt) as stop:
            return report_stop(stop, caught)
    _report(args, comparison, out)
    return 0


def _report(args: Namespace, comparison: "Comparison", out: Path) -> None:
    """Write curves and numbers, and print the table."""
    facts = comparison.facts(loss=args.loss, accuracy=args.accuracy)
    write_all(out, {"curves": comparison.plot()}, NUMBERS, facts)
    if args.json:
        print_json({"out": str(out)} | facts)
    else:
        terminal = Terminal()
        terminal.write([*_lines(facts, terminal.table_width), f"written to {out}"])


def _run_modules(args: Namespace, words: Sequence[str], settings: Sequence[str], only: Sequence[str]) -> int:
    """Train networks that are no cells, in this process, from fresh weights."""
    from dartboard.analysis.convergence import make_settings
    from dartboard.analysis.module_training import ModuleTraining, compare_modules
    from dartboard.data import load_dataset

    for flag in ("variants", "kind", "space", "plugin", "executor", "jobs"):
        if getattr(args, flag):
            raise UsageError(f"--{flag} is of cells; {next(filter(is_module, words))} is none")
    for word in settings:
        if word.partition("=")[0] not in MODULE_SETTINGS:
            raise UsageError(f"{word} is of cells; other networks have {', '.join(MODULE_SETTINGS)}")
    device, config = prepare_device(args.device, None), make_settings(SMALL, words=settings)
    data = load_dataset(args.data or config.data.name)
    factories = {
        name: fresh_network(word, data) for name, word in zip(unique_names(words), words, strict=True)
    }
    for label in only:
        if label not in factories:
            raise UnknownNameError("network of the comparison", label, factories)
    out: Path = args.out or RUNS / f"convergence-{next(iter(factories))}-{data.name}"
    weights = config.weights
    training = ModuleTraining(
        config.epochs, config.batch, weights.momentum, weights.weight_decay, weights.clip
    )
    with interrupt_on_signals() as caught:
        try:
            with progress(quiet=args.quiet) as report_progress, using_threads(1):
                comparison = compare_modules(
                    {label: make for label, make in factories.items() if not only or label in only},
                    data,
                    training,
                    lrs=args.lr or (weights.lr,),
                    seeds=args.seeds or (config.seed,),
                    folder=out,
                    device=device,
                    progress=report_progress,
                )
        except KeyboardInterrupt as stop:
            return report_stop(stop, caught)
    _report(args, comparison, out)
    return 0


def _check(args: Namespace, cell_words: Sequence[str], settings: Sequence[str]) -> None:
    """Raise UsageError if arguments contradict each other."""
    if not cell_words:
        raise UsageError("convergence needs a CELL: a published cell, a run, a file, or a genotype")
    draw_flags = {"--variants": args.variants is not None, "--seed": args.seed is not None}
    if args.kind == "widest" and any(draw_flags.values()):
        flag = next(flag for flag, is_set in draw_flags.items() if is_set)
        raise UsageError(f"{flag} says nothing about the widest, of which there is one; leave it out")
    if args.kind != "widest" and args.variants is None and (args.kind is not None or draw_flags["--seed"]):
        flag = "--kind" if args.kind is not None else "--seed"
        raise UsageError(f"{flag} is of variants; say how many with --variants")
    flags = {"weights.lr": "--lr", "seed": "--seeds", "data": "--data", "data.name": "--data"}
    for word in settings:
        key = word.partition("=")[0]
        if key in flags:
            raise UsageError(f"{word}: give that with {flags[key]}")


def _cells(args: Namespace, words: Sequence[str]) -> dict[str, Genotype]:
    """By labels that can name directories the cells that `words` name, each followed by its variants."""
    cells: dict[str, Genotype] = {}
    for position, word in enumerate(words, 1):
        plain = Path(word).name.removesuffix(".json").removesuffix(".txt")
        short = (len(word) < MAX_LABEL or "/" in word) and len(plain) < MAX_LABEL
        label = plain if short and PLAIN.fullmatch(plain) else f"cell-{position}"
        genotype = find_genotype(word)
        for name, variant in [(label, genotype), *_variants(args, label, word, genotype)]:
            if name in cells:
                raise UsageError(f"two cells are called {name}; name different ones")
            cells[name] = variant
    return cells


def _variants(args: Namespace, label: str, word: str, genotype: Genotype) -> Iterator[tuple[str, Genotype]]:
    """The variants of a cell with their labels."""
    from dartboard.analysis.variants import random_connections, random_operations, widest

    if args.kind == "widest":
        yield f"{label}-widest", widest(genotype)
        return
    variants: list[Genotype] = []
    if args.variants is not None and args.kind == "operations":
        ops = candidates(word, genotype, args.space)
        variants = random_operations(genotype, args.variants, seed=args.seed or 0, ops=ops)
    elif args.variants is not None:
        variants = random_connections(genotype, args.variants, seed=args.seed or 0)
    yield from ((f"{label}-{count}", variant) for count, variant in enumerate(variants, 1))


def _lines(facts: dict[str, Any], width: int) -> Iterator[Text | str]:
    """A table for each learning rate, the fastest cell first."""
    for rate in facts["rates"]:
        levels = [f"{name} {value:.4g}" for name, value in rate["levels"].items() if value is not None]
        targets = f"; epochs are to {' and '.join(levels)}" if levels else ""
        yield Text(
            f"learning rate {rate['lr']:g}, {facts['measured_on']} images, fastest first{targets}", "bold"
        )
        rows = [HEAD, *(_row(cell, facts["cells"][cell], rate["cells"][cell]) for cell in rate["ranking"])]
        yield from table_texts(rows, width)
        for name, cell in rate["cells"].items():
            for training in cell["trainings"]:
                if training["fault"] is not None:
                    fault = f"{name} with seed {training['seed']} broke off: {training['fault']}"
                    yield Text(fault, "yellow")
        yield ""


def _row(name: str, cell: dict[str, Any], result: dict[str, Any]) -> tuple[str, ...]:
    width, depth = (f"{cell[key]:g}" if key in cell else "-" for key in ("width", "depth"))
    shape = (width, depth, f"{cell['parameters']:,}")
    ends = [result["area"]["loss"], result["final"]["loss"], result["final"]["accuracy"]]
    numbers = ("-" if value is None else f"{value:.4f}" for value in ends)
    return (name, *shape, *numbers, *(_mean(result["epochs_to"][metric]) for metric in ("loss", "accuracy")))


def _mean(values: Sequence[float | None]) -> str:
    """The mean over seeds; with how many never came there, where some did not."""
    reached = [value for value in values if value is not None]
    if not reached:
        return "never" if values else "-"
    never = f" ({len(values) - len(reached)} never)" if len(reached) < len(values) else ""
    return f"{sum(reached) / len(reached):.1f}{never}"
