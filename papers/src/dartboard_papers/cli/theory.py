"""Measure what the papers' theorems speak of, beside their bounds.

`theory linear-cells` takes the widest and the narrowest linear cell (Shu et al., theorems 4.2 and 4.3),
`theory experts` the regret of XNAS, exponentiated gradient and GD with softmax, `theory mirror-descent` the
iterations of both geometries against the dimension (GAEA section 3), and `theory stationarity RUN` says how
near a search was to a stationary point at its end (GAEA equation 7).
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.cli.arguments import above_zero, positive
from dartboard.cli.render import Terminal, align_columns, print_json, progress, write_all

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from matplotlib.figure import Figure

    from dartboard_papers.theory.forecasters import Race
    from dartboard_papers.theory.linear_problems import Survey
    from dartboard_papers.theory.mirror_descent import Iterations
    from dartboard_papers.theory.stationarity import Stationarity

    Subparsers = _SubParsersAction[ArgumentParser]


Rows = list[tuple[str, ...]]
"""Rows of a table, the header first."""


def natural(text: str) -> int:
    """A whole number from 0 on."""
    return 0 if text == "0" else positive(text)


def several(text: str) -> int:
    """A whole number from 2 on."""
    number = positive(text)
    if number < 2:
        raise ArgumentTypeError(f"expected a whole number from 2 on, got {text!r}")
    return number


def configure(parser: ArgumentParser) -> None:
    """Declare the kinds of measurements and their arguments."""
    kinds = parser.add_subparsers(title="what to measure", dest="theory", metavar="WHAT", required=True)
    _linear_cells(kinds)
    _experts(kinds)
    _mirror_descent(kinds)
    _stationarity(kinds)


def run(args: Namespace) -> int:
    """Run the measurement that was named."""
    code: int = args.measure(args)
    return code


def _begin(kinds: "Subparsers", name: str, about: str, measure: Callable[[Namespace], int]) -> ArgumentParser:
    parser: ArgumentParser = kinds.add_parser(name, help=about, description=about, allow_abbrev=False)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.set_defaults(measure=measure)
    return parser


def _device(parser: ArgumentParser) -> None:
    parser.add_argument("--device", metavar="D", help="where to compute (default: cuda if there is one)")


def _seed(parser: ArgumentParser) -> None:
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="random seed (default: 0)")


def _linear_cells(kinds: "Subparsers") -> None:
    parser = _begin(kinds, "linear-cells", "Compare the widest and the narrowest linear cell", measure_cells)
    add = parser.add_argument
    add("--norms", type=above_zero, nargs="+", default=[0.5, 1.0, 2.0], metavar="X", help="of the weights")
    add("--problems", type=positive, default=10, metavar="N", help="random ones for each norm (default: 10)")
    add("--nodes", type=positive, default=4, metavar="N", help="of a cell (default: 4)")
    add("--size", type=positive, default=4, metavar="N", help="entries of a node (default: 4)")
    add("--examples", type=positive, default=32, metavar="N", help="examples (default: 32)")
    add("--loss", default="squared", metavar="L", help="squared or logistic (default: squared)")
    _seed(parser)


def measure_cells(args: Namespace) -> int:
    """Constants and variances of random linear cells, beside the bounds."""
    from dartboard_papers.theory.linear_problems import survey
    from dartboard_papers.theory.plots import SMOOTHNESS, VARIANCE, draw_smoothness, draw_variance

    sizes = {name: getattr(args, name) for name in ("problems", "nodes", "size", "examples", "loss", "seed")}
    with progress() as tell:
        surveyed = survey(args.norms, **sizes, tell=tell)
    fields = [*SMOOTHNESS.values(), *VARIANCE.values()]
    facts = {"norms": args.norms, **sizes, **{field: surveyed.stacked(field).tolist() for field in fields}}
    figures = {"smoothness": draw_smoothness(surveyed), "variance": draw_variance(surveyed)}
    return _finish(args, facts, figures, cells_table(surveyed))


def _experts(kinds: "Subparsers") -> None:
    parser = _begin(kinds, "experts", "Measure the regret of forecasters on expert problems", measure_experts)
    add = parser.add_argument
    add(
        "--problem",
        default="gaussian",
        metavar="P",
        help="gaussian, coins, late-bloomer or adversary (default: gaussian)",
    )
    add("--experts", type=several, nargs="+", default=[2, 8, 32], metavar="N", help="(default: 2 8 32)")
    add("--runs", type=positive, default=200, metavar="N", help="(default: 200)")
    add("--steps", type=positive, default=1000, metavar="N", help="rounds of a run (default: 1000)")
    add("--noise", type=above_zero, metavar="X", help="of gaussian rewards (default: 1)")
    add("--lr", type=above_zero, metavar="X", help="step size (default: the theoretical one of XNAS)")
    _device(parser)
    _seed(parser)


def measure_experts(args: Namespace) -> int:
    """Regret and correct selection of three forecasters."""
    from dartboard.cli.arguments import prepare_device
    from dartboard_papers.theory.forecasters import race
    from dartboard_papers.theory.plots import draw_race

    numbers = {
        "runs": args.runs,
        "horizon": args.steps,
        "noise": args.noise,
        "lr": args.lr,
        "seed": args.seed,
    }
    device = prepare_device(args.device, None)
    with progress() as tell:
        result = race(args.problem, args.experts, **numbers, device=device, tell=tell)
    facts = {"problem": args.problem, **numbers, "bounds": dict(result.bounds)}
    facts["standings"] = [asdict(standing) for standing in result.standings]
    return _finish(args, facts, {"experts": draw_race(result)}, race_table(result))


def _mirror_descent(kinds: "Subparsers") -> None:
    about = "Count the iterations of both geometries against the dimension of the simplex"
    parser = _begin(kinds, "mirror-descent", about, measure_iterations)
    add = parser.add_argument
    add("--dimensions", type=several, nargs="+", default=[4, 16, 64], metavar="K", help="(default: 4 16 64)")
    add("--accuracy", type=above_zero, default=0.1, metavar="X", help="of the loss (default: 0.1)")
    add("--gap", type=above_zero, default=0.5, metavar="X", help="cost of all ops but one (default: 0.5)")
    add("--noise", type=above_zero, default=1.0, metavar="X", help="of the gradients (default: 1)")
    add("--runs", type=positive, default=16, metavar="N", help="that means are over (default: 16)")
    add("--most", type=positive, default=20_000, metavar="N", help="steps to give up after (default: 20000)")
    _device(parser)
    _seed(parser)


def measure_iterations(args: Namespace) -> int:
    """Iterations of exponentiated gradient and of projected gradient descent."""
    from dartboard.cli.arguments import prepare_device
    from dartboard_papers.theory.mirror_descent import survey_dimensions
    from dartboard_papers.theory.plots import draw_iterations

    names = ("accuracy", "gap", "noise", "runs", "most", "seed")
    numbers = {name: getattr(args, name) for name in names}
    device = prepare_device(args.device, None)
    with progress() as tell:
        counts = survey_dimensions(args.dimensions, **numbers, device=device, tell=tell)
    facts = {**numbers, "iterations": [asdict(count) for count in counts]}
    return _finish(args, facts, {"iterations": draw_iterations(counts)}, iterations_table(counts))


def _stationarity(kinds: "Subparsers") -> None:
    about = "Say how near a search was to a stationary point at its end"
    parser = _begin(kinds, "stationarity", about, measure_run)
    add = parser.add_argument
    add("search", metavar="RUN", help="the directory of a search, with its checkpoint")
    add("--scale", type=above_zero, default=0.1, metavar="X", help="lambda of equation 7 (default: 0.1)")
    add("--iterations", type=positive, default=20, metavar="N", help="for the proximal point (default: 20)")
    add("--fall-back", action="store_true", help="take an older checkpoint if the last is damaged")
    _device(parser)


def measure_run(args: Namespace) -> int:
    """The Bregman stationarity of a run."""
    from dartboard.cli.arguments import prepare_device
    from dartboard.runs import Run
    from dartboard_papers.theory.plots import draw_stationarity
    from dartboard_papers.theory.stationarity import stationarity

    device = prepare_device(args.device, None)
    numbers = {"scale": args.scale, "iterations": args.iterations, "fall_back": args.fall_back}
    with progress() as tell:
        measured = stationarity(Run.read(args.search), **numbers, device=device, tell=tell)
    facts = {"run": args.search, **asdict(measured)}
    return _finish(args, facts, {"stationarity": draw_stationarity(measured)}, stationarity_table(measured))


def _finish(args: Namespace, facts: Mapping[str, Any], figures: "Mapping[str, Figure]", rows: Rows) -> int:
    """Writes figures and numbers if --out is given, and prints the numbers or the table."""
    if args.out is not None:
        write_all(args.out, figures, f"{args.theory}.json", facts)
    if args.json:
        print_json(facts)
        return 0
    Terminal().write("  ".join(row).rstrip() for row in align_columns(rows, len(rows[0])))
    if args.out is not None:
        print(f"written to {args.out}")
    return 0


def cells_table(surveyed: "Survey") -> Rows:
    """For each norm, the ratio of both cells, and the fraction of the narrowest's values above each bound."""
    from dartboard_papers.theory.plots import SMOOTHNESS, VARIANCE

    rows: Rows = [("norm", "measured", "narrowest / widest", "above", "above", "")]
    for index, norm in enumerate(surveyed.lengths):
        for what, names in (("smoothness", SMOOTHNESS), ("variance", VARIANCE)):
            wide, narrow, *_ = (surveyed.stacked(field)[index] for field in names.values())
            ratio = f"{(narrow.sum(-1) / wide.sum(-1)).median().item():.3g}"
            _, measured, *bounds = names.values()
            fractions = [surveyed.broken(measured, bound)[index].double().mean().item() for bound in bounds]
            labels = ", ".join(list(names)[2:])
            rows.append(
                (f"{norm:g}", what, ratio, *(f"{100 * fraction:.3g} %" for fraction in fractions), labels)
            )
    return rows


def race_table(result: "Race") -> Rows:
    """A row for each number of experts and each forecaster."""
    rows: Rows = [("experts", "forecaster", "rate", "regret", "", "correct", "bound")]
    for standing in result.standings:
        regret, spread = (
            f"{standing.regret:.1f}",
            "" if standing.error is None else f"+- {standing.error:.2g}",
        )
        correct = "-" if standing.correct is None else f"{100 * standing.correct:.1f} %"
        bound = f"{result.bounds[standing.experts]:.1f}" if standing.forecaster == "XNAS" else ""
        words = f"{standing.lr:.3g}", regret, spread, correct, bound
        rows.append((str(standing.experts), standing.forecaster, *words))
    return rows


def iterations_table(counts: "Sequence[Iterations]") -> Rows:
    """A row for each dimension and each geometry."""
    rows: Rows = [("dimension", "geometry", "iterations", "guarantee", "rate", "stationarity at the start")]
    for count in counts:
        steps = "not in time" if count.steps is None else str(count.steps)
        rate = "-" if count.rate is None else f"{count.rate:.3g}"
        words = f"{count.guarantee:,.0f}", rate, f"{count.stationarity:.3g}"
        rows.append((str(count.dimension), count.geometry, steps, *words))
    return rows


def stationarity_table(measured: "Stationarity") -> Rows:
    """The numbers of a run, one row each."""
    rows: Rows = [
        ("loss", f"{measured.loss:.4f}"),
        ("stationarity of the ops' weights", f"{measured.proximal:.4g}"),
        ("the same with one mirror step", f"{measured.step:.4g}"),
        ("squared gradient of the network", f"{measured.weights:.4g}"),
    ]
    rows += [
        (f"{name}, the least stationary edge", f"{max(edges):.4g}") for name, edges in measured.edges.items()
    ]
    moved = {name: epochs[-1] for name, epochs in measured.movement.items() if epochs}
    return rows + [
        (f"{name}, movement in the last epoch", f"{distance:.4g}") for name, distance in moved.items()
    ]
