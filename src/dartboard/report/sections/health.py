"""What went wrong, in words, and how much is lost when a cell is made discrete."""

from collections.abc import Mapping, Sequence

from dartboard.report.curves import Chart, bands_of, gap, lines_of, rows_of
from dartboard.report.html import Html, join, tag
from dartboard.report.models import SearchFound
from dartboard.report.sections.base import Context, Section
from dartboard.report.words import percent


def warnings_of(search: SearchFound) -> dict[str, str]:
    """By warning, when it was given: `since epoch 3`, `in epochs 2 to 5`, `at the end`."""
    epochs: dict[str, list[int]] = {}
    for moment in search.moments:
        for warning in moment.row.get("warnings", ()):
            epochs.setdefault(str(warning), []).append(moment.epoch)
    last = search.moments[-1].epoch if search.moments else 0
    found = {warning: _when(own, last) for warning, own in epochs.items()}
    for warning in (search.result or {}).get("warnings", ()):
        if str(warning) not in found or found[str(warning)] == f"in epoch {last}":
            found[str(warning)] = "at the end"
    return found


def _when(epochs: Sequence[int], last: int) -> str:
    if len(epochs) == 1:
        return f"in epoch {epochs[0]}"
    return f"since epoch {epochs[0]}" if epochs[-1] == last else f"in epochs {epochs[0]} to {epochs[-1]}"


def health(context: Context) -> Section | None:
    """Warnings of all searches, and the discretisation gap."""
    if not any(own.last for own in context.searches):
        return None
    items = [
        tag("li", tag("span", f"{_head(context, when, who)}: ", class_="when"), warning)
        for (warning, when), who in _warned(context).items()
    ]
    calm = tag("p", "Nothing to warn of: no collapse into skip connections, no dead ends.", class_="calm")
    parts = [tag("ul", *items, class_="warnings") if items else calm, *_gap(context)]
    return Section("health", "Health", join(parts))


def _warned(context: Context) -> dict[tuple[str, str], dict[str, list[int]]]:
    """By warning and time, the searches that were warned so: their labels and seeds."""
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    for label, group in context.groups.items():
        for own in group:
            for item in warnings_of(own).items():
                found.setdefault(item, {}).setdefault(label, []).append(own.seed)
    return found


def _head(context: Context, when: str, who: Mapping[str, Sequence[int]]) -> str:
    """Such as `darts, seeds 0, 1: since epoch 3`; the time alone where there is one search."""
    if context.alone is not None:
        return when.capitalize()
    words = (
        f"{label}, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
        for label, seeds in who.items()
    )
    return f"{'; '.join(words)}: {when}"


def _gap(context: Context) -> list[Html]:
    """What making the cells discrete costs: a sentence where there is one search, and a chart."""
    if context.alone is not None:
        lines = lines_of(rows_of(context.alone), {"gap": gap})
    else:
        groups = {label: [rows_of(own) for own in group] for label, group in context.groups.items()}
        lines = bands_of(groups, gap)
    words = [_sentence(context.alone)] if context.alone is not None else []
    if not any(len(own.x) > 1 for own in lines):
        return words
    chart = Chart("Discretisation gap", lines, "supernet less cell alone", percent=True, zero=True)
    return [*words, tag("div", chart.html(), class_="charts")]


def _sentence(search: SearchFound) -> Html:
    mixed, alone = search.last.get("valid_accuracy"), search.last.get("discrete_accuracy")
    if mixed is None or alone is None:
        return Html("")
    verb = "falls" if alone < mixed else "goes"
    lost = f"{100 * (mixed - alone):.1f}".replace("-", "\N{MINUS SIGN}")
    return tag(
        "p",
        tag("strong", "Discretisation gap. "),
        f"When the supernet keeps the chosen ops alone, its accuracy {verb} from {percent(mixed)} to "
        f"{percent(alone)}: a gap of {lost} points. A network that is trained anew need not have it.",
    )
