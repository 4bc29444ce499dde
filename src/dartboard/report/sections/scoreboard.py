"""Several runs in one table: groups of seeds with mean and deviation, and each run below its group."""

from collections.abc import Sequence

from dartboard.report.html import Html, join, tag
from dartboard.report.models import SearchFound
from dartboard.report.sections.base import Context, Section, badge, interval, mean_and_spread, table
from dartboard.report.sections.headline import accuracy_of
from dartboard.report.words import percent
from dartboard.utils.text import span

INTERVAL = "95 % interval"
DASH = "\N{EN DASH}"


def scoreboard(context: Context) -> Section | None:
    """The searches of a comparison."""
    if len(context.searches) < 2:
        return None
    ranked = any(context.rank(own) is not None for own in context.searches)
    trained = bool(context.compared(context.searches))
    head = ["", "state", "supernet", INTERVAL, "cell alone", "entropy", *["oracle test", "rank"] * ranked]
    head += ["trained", INTERVAL] * trained + ["time"]
    rows: list[list[str]] = []
    for label, group in context.groups.items():
        if len(group) > 1:
            rows.append(_row(context, tag("strong", label), group, ranked=ranked, trained=trained))
        names = (
            tag("span", f"seed {own.seed}", class_="sub") if len(group) > 1 else tag("strong", label)
            for own in group
        )
        for own, name in zip(group, names, strict=True):
            rows.append(_row(context, name, [own], ranked=ranked, trained=trained))
    return Section(
        "scoreboard", "Scoreboard", table(head, rows, words=2, caption="Searches and what they came to")
    )


def _row(
    context: Context, name: Html, group: Sequence[SearchFound], *, ranked: bool, trained: bool
) -> list[str]:
    """The cells of a row; a group of several has means and deviations of those that were not given up."""
    states = _states(group)
    if len(group) > 1:
        group = [own for own in group if own.origin.given_up is None]

    def last(key: str) -> list[float | None]:
        return [own.last.get(key) for own in group]

    ranks = [context.rank(own) for own in group]
    tests = [None if own is None else own.test for own in ranks]
    scores = [accuracy_of(own) for own in context.compared(group)]
    cells: list[str] = [
        mean_and_spread(last("valid_accuracy"), percent),
        interval(last("valid_accuracy"), percent),
        mean_and_spread(last("discrete_accuracy"), percent),
        mean_and_spread(last("entropy"), "{:.3f}".format),
    ]
    if ranked:
        places = [own.rank for own in ranks if own is not None]
        cells += [mean_and_spread(tests, lambda own: percent(own, 2)), _places(places)]
    cells += [made(scores, lambda own: percent(own, 2)) for made in (mean_and_spread, interval)] * trained
    seconds = [own for own in last("seconds") if own is not None]
    return [name, states, *cells, span(sum(seconds)) if seconds else DASH]


def _places(places: Sequence[int]) -> str:
    if not places:
        return DASH
    return f"{min(places):,} to {max(places):,}" if min(places) < max(places) else f"{places[0]:,}"


def _states(group: Sequence[SearchFound]) -> Html:
    """The state of a run, or the different ones of several."""
    return badge(group[0].origin) if len(group) == 1 else join(dict.fromkeys(map(_state, group)), " ")


def _state(own: SearchFound) -> Html:
    member, state = own.origin.member, own.origin.state
    if own.origin.given_up is None or member is None:
        return tag("span", state, class_=f"badge {state}")
    return tag("span", member.state, class_="badge stopped")
