"""Warnings of searches, and the discretization gap."""

from collections.abc import Mapping, Sequence

from dartboard.report.charts import Chart, bands_of, discretization_gap, lines_of
from dartboard.report.formatting import percent
from dartboard.report.models import SearchRun
from dartboard.report.sections.base import ReportContext, Section


def warning_epochs(search: SearchRun) -> dict[str, str]:
    """For each warning, when it was given: `since epoch 3`, `in epochs 2 to 5`, `at the end`."""
    epochs: dict[str, list[int]] = {}
    for epoch in search.epochs:
        for warning in epoch.row.get("warnings", ()):
            epochs.setdefault(str(warning), []).append(epoch.epoch)
    last = search.epochs[-1].epoch if search.epochs else 0
    times = {warning: _format_epochs(given, last) for warning, given in epochs.items()}
    for warning in (search.result or {}).get("warnings", ()):
        if str(warning) not in times or times[str(warning)] == f"in epoch {last}":
            times[str(warning)] = "at the end"
    return times


def _format_epochs(epochs: Sequence[int], last: int) -> str:
    if len(epochs) == 1:
        return f"in epoch {epochs[0]}"
    return f"since epoch {epochs[0]}" if epochs[-1] == last else f"in epochs {epochs[0]} to {epochs[-1]}"


def health(context: ReportContext) -> Section | None:
    """Warnings of all searches, each once, and the discretization gap."""
    if not any(search.last for search in context.searches):
        return None
    seeds: dict[tuple[str, str], dict[str, list[int]]] = {}  # by warning and time, then by label
    for label, group in context.groups.items():
        for search in group:
            for warning in warning_epochs(search).items():
                seeds.setdefault(warning, {}).setdefault(label, []).append(search.seed)
    single = context.single_search
    warnings = [
        (when.capitalize() if single is not None else f"{_format_searches(by_label)}: {when}", warning)
        for (warning, when), by_label in seeds.items()
    ]
    if single is not None:
        lines = lines_of(single.rows, {"gap": discretization_gap})
    else:
        groups = {label: [search.rows for search in group] for label, group in context.groups.items()}
        lines = bands_of(groups, discretization_gap)
    chart = Chart("Discretisation gap", lines, "supernet less cell alone", percent=True, zero=True)
    return Section(
        "health",
        "Health",
        "health.html",
        {"warnings": warnings, "gap": "" if single is None else _gap_sentence(single)},
        charts=[chart] if chart.has_curve else [],
    )


def _format_searches(seeds: Mapping[str, Sequence[int]]) -> str:
    """Such as `darts, seeds 0, 1`."""
    return "; ".join(
        f"{label}, seed{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
        for label, numbers in seeds.items()
    )


def _gap_sentence(search: SearchRun) -> str:
    mixed, discrete = search.last.get("valid_accuracy"), search.last.get("discrete_accuracy")
    if mixed is None or discrete is None:
        return ""
    verb = "falls" if discrete < mixed else "goes"
    lost = f"{100 * (mixed - discrete):.1f}".replace("-", "\N{MINUS SIGN}")
    return (
        f"When the supernet keeps the chosen ops alone, its accuracy {verb} from {percent(mixed)} to "
        f"{percent(discrete)}: a gap of {lost} points. A network that is trained anew need not have it."
    )
