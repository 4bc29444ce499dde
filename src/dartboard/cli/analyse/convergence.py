"""Train cells side by side, on the same batches, and say which of them learns faster.

Each CELL is a published cell, a run's directory, a file with a genotype, or a genotype itself; --variants
adds random variants of each. All are trained from each of the seeds at each of the learning rates, without
regularisation, on small networks unless words such as epochs=50 net.channels=16 net.cells=8 say otherwise.
Trainings are ordinary runs in OUT/runs; curves and numbers are written to OUT. Ctrl-C saves and stops, and
the same command goes on; more cells, rates or seeds add to what is there.
"""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.analyse.networks import SETTING, SMALL, candidates
from dartboard.cli.analyse.output import as_json, write_all
from dartboard.cli.arguments import (
    RUNS,
    UsageError,
    add_executor_flags,
    add_plugins,
    load_plugins,
    make_executor,
    number,
    positive,
    split_executor_words,
)
from dartboard.cli.render import Terminal, align_columns
from dartboard.cli.signals import report_stop, stop_on_signals
from dartboard.errors import Stopped
from dartboard.runs.lookup import find_genotype, home_of, space_name, space_of_run
from dartboard.space import Genotype

if TYPE_CHECKING:
    from dartboard.analysis.comparison import Comparison
    from dartboard.analysis.convergence import Comparer
    from dartboard.train.config import TrainSettings

PLAIN = re.compile(r"[A-Za-z0-9][\w.+-]*")
LONGEST = 40
"""Characters of a word that names a cell."""
KINDS = ("connections", "operations", "widest")
NUMBERS = "convergence.json"
HEAD = ("", "width", "depth", "parameters", "loss area", "loss", "accuracy", "epochs to loss", "to accuracy")


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("cells", nargs="+", metavar="CELL", help="a published cell, a run, a file, or a genotype")
    parser.set_defaults(overrides=[])  # words such as epochs=10 that stand behind flags
    add("--variants", type=positive, metavar="N", help="add so many random variants of each cell")
    add("--kind", choices=KINDS, help="what varies (default: connections); of the widest there is one")
    add("--seed", type=int, metavar="N", help="random seed of the variants (default: 0)")
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
    args.executor_words, words = split_executor_words([*args.cells, *args.overrides])
    named = [word for word in words if not SETTING.match(word)]
    settings = [word for word in words if SETTING.match(word)]
    _check(args, named, settings)
    plugins = load_plugins(args.plugin)
    cells = _with_variants(args, _cells(named))
    from dartboard.analysis.convergence import Comparer, ComparisonPlan
    from dartboard.cli.arguments import prepare_device

    config = _settings(args, named[0], next(iter(cells.values())), settings, plugins)
    plan, device = ComparisonPlan.of(cells, config), prepare_device(args.device, None)
    out = args.out or RUNS / f"convergence-{next(iter(cells))}-{Path(config.data.name).stem}"
    comparison = _compare(args, Comparer(plan, out, device), config)
    return comparison if isinstance(comparison, int) else _report(args, comparison, out)


def _check(args: Namespace, named: Sequence[str], settings: Sequence[str]) -> None:
    if not named:
        raise UsageError("convergence needs a CELL: a published cell, a run, a file, or a genotype")
    _check_variants(args)
    flags = {"weights.lr": "--lr", "seed": "--seeds", "data": "--data", "data.name": "--data"}
    for word in settings:
        if flag := flags.get(word.partition("=")[0]):
            raise UsageError(f"{word}: give that with {flag}")


def _check_variants(args: Namespace) -> None:
    drawn = {"--variants": args.variants is not None, "--seed": args.seed is not None}
    if args.kind == "widest" and any(drawn.values()):
        flag = next(flag for flag, is_set in drawn.items() if is_set)
        raise UsageError(f"{flag} says nothing about the widest, of which there is one; leave it out")
    if args.kind != "widest" and args.variants is None and (args.kind is not None or drawn["--seed"]):
        flag = "--kind" if args.kind is not None else "--seed"
        raise UsageError(f"{flag} is of variants; say how many with --variants")


def _cells(words: Sequence[str]) -> dict[str, tuple[str, Genotype]]:
    """By labels that can name directories, what was typed and the cell that it means."""
    cells: dict[str, tuple[str, Genotype]] = {}
    for position, word in enumerate(words, 1):
        plain = Path(word).name.removesuffix(".json").removesuffix(".txt")
        short = len(word) < LONGEST or "/" in word
        label = plain if short and len(plain) < LONGEST and PLAIN.fullmatch(plain) else f"cell-{position}"
        _check_label(label, cells)
        cells[label] = word, find_genotype(word)
    return cells


def _check_label(label: str, labels: Container[str]) -> None:
    if label in labels:
        raise UsageError(f"two cells are called {label}; name different ones")


def _with_variants(args: Namespace, cells: Mapping[str, tuple[str, Genotype]]) -> dict[str, Genotype]:
    """The cells, each followed by its variants."""
    genotypes: dict[str, Genotype] = {}
    for label, (word, genotype) in cells.items():
        for name, variant in ((label, genotype), *_variants(args, label, word, genotype)):
            _check_label(name, genotypes)
            genotypes[name] = variant
    return genotypes


def _variants(args: Namespace, label: str, word: str, genotype: Genotype) -> Iterator[tuple[str, Genotype]]:
    """The variants of a cell with their labels."""
    from dartboard.analysis.variants import random_connections, random_operations, widest

    if args.kind == "widest":
        yield f"{label}-widest", widest(genotype)
        return
    drawn: list[Genotype] = []
    if args.variants is not None and args.kind == "operations":
        ops = candidates(word, genotype, args.space)
        drawn = random_operations(genotype, args.variants, seed=args.seed or 0, ops=ops)
    elif args.variants is not None:
        drawn = random_connections(genotype, args.variants, seed=args.seed or 0)
    yield from ((f"{label}-{count}", variant) for count, variant in enumerate(drawn, 1))


def _settings(
    args: Namespace, word: str, first: Genotype, words: Sequence[str], plugins: list[str]
) -> "TrainSettings":
    """The settings of all trainings; the stack is the first cell's own unless another is named."""
    from dartboard.analysis.convergence import make_settings
    from dartboard.space import load_space

    space = load_space(args.space) if args.space else space_of_run(word) or home_of(first)
    flags: dict[str, Any] = {"space": space_name(word, args.space, space), "plugins": plugins}
    flags |= {} if args.data is None else {"data": {"name": args.data}}
    return make_settings(SMALL, flags, words=words)


def _compare(args: Namespace, comparer: "Comparer", config: "TrainSettings") -> "Comparison | int":
    """What came of it, or the exit code where a signal stopped it."""
    from dartboard.cli.progress import progress

    lrs, first = args.lr or (config.weights.lr,), args.seeds or (config.seed,)
    executor = make_executor(args, args.executor_words, threads=1)
    with stop_on_signals(comparer.stop) as caught:
        try:
            with progress(quiet=args.quiet) as tell:
                return comparer.run(lrs, first, executor=executor, progress=tell)
        except (Stopped, KeyboardInterrupt) as stop:
            return report_stop(stop, caught)


def _report(args: Namespace, comparison: "Comparison", out: Path) -> int:

    facts = comparison.facts(loss=args.loss, accuracy=args.accuracy)
    write_all(out, {"curves": comparison.plot()}, NUMBERS, facts)
    if args.json:
        print(as_json({"out": str(out)} | facts))
    else:
        Terminal().write([*_lines(facts), f"written to {out}"])
    return 0


def _lines(facts: dict[str, Any]) -> Iterator[Text | str]:
    """A table for each learning rate, the fastest cell first."""
    for rate in facts["rates"]:
        levels = [f"{name} {value:.4g}" for name, value in rate["levels"].items() if value is not None]
        targets = f"; epochs are to {' and '.join(levels)}" if levels else ""
        yield Text(
            f"learning rate {rate['lr']:g}, {facts['measured_on']} images, fastest first{targets}", "bold"
        )
        rows = [HEAD, *(_row(cell, facts["cells"][cell], rate["cells"][cell]) for cell in rate["ranking"])]
        for row, (name, *cells) in enumerate(align_columns(rows, 1)):
            text = "".join(f"  {cell}" for cell in cells)
            yield Text.assemble((name, "cyan"), (text, "" if row else "dim"))
        yield from _faults(rate["cells"])
        yield ""


def _faults(cells: Mapping[str, Any]) -> Iterator[Text]:
    """Which trainings broke off, and why."""
    for name, cell in cells.items():
        for training in cell["trainings"]:
            if training["fault"] is not None:
                yield Text(f"{name} with seed {training['seed']} broke off: {training['fault']}", "yellow")


def _row(name: str, cell: dict[str, Any], result: dict[str, Any]) -> tuple[str, ...]:
    shape = (f"{cell['width']:g}", str(cell["depth"]), f"{cell['parameters']:,}")
    ends = [result["area"]["loss"], result["final"]["loss"], result["final"]["accuracy"]]
    numbers = ("-" if value is None else f"{value:.4f}" for value in ends)
    return (name, *shape, *numbers, *(_mean(result["epochs_to"][metric]) for metric in ("loss", "accuracy")))


def _mean(values: Sequence[float | None]) -> str:
    """The mean over seeds; with how many never came there, where some did not."""
    known = [value for value in values if value is not None]
    if not known:
        return "never" if values else "-"
    never = f" ({len(values) - len(known)} never)" if len(known) < len(values) else ""
    return f"{sum(known) / len(known):.1f}{never}"
