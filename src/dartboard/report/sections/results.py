"""Tables of results: the arms of a protocol, and the searches of a comparison."""

from collections.abc import Sequence

from dartboard.report.formatting import DASH, confidence_interval, mean_and_std, percent, percent2
from dartboard.report.models import SearchRun
from dartboard.report.sections.base import DataTable, ReportContext, Section, TableCell, state_badge
from dartboard.utils.text import span

PROTOCOL_HEAD = ("", "networks", "seeds", "mean", "deviation", "parameters", "time")
INTERVAL = "95 % interval"


def protocol(context: ReportContext) -> Section | None:
    """The arms of each protocol that is finished: found cells against random ones."""
    arms = []
    for run in context.runs.protocols:
        if run.result is None:
            continue
        rows = [
            [
                name,
                f"{len(arm['networks']):,}",
                f"{len(arm['finals']):,}",
                percent(arm["summary"]["mean"], 2),
                percent(arm["summary"]["deviation"], 2),
                f"{arm['parameters']:,}",
                span(arm["seconds"]["total"]),
            ]
            for name, arm in run.result["arms"].items()
        ]
        about = f"Accuracies are of {run.result['measured_on']} images, after the last epoch."
        arms.append((DataTable(PROTOCOL_HEAD, rows, f"Arms of {run.info.name}"), about))
    return Section("protocol", "Found against random", "protocol.html", {"arms": arms}) if arms else None


def scoreboard(context: ReportContext) -> Section | None:
    """The searches of a comparison: groups of seeds with means, and each run below its group."""
    if len(context.searches) < 2:
        return None
    has_ranks = any(context.rank(search) is not None for search in context.searches)
    has_trainings = bool(context.comparable_trainings(context.searches))
    head = ["", "state", "supernet", INTERVAL, "cell alone", "entropy", *["oracle test", "rank"] * has_ranks]
    head += ["trained", INTERVAL] * has_trainings + ["time"]
    rows: list[list[str | TableCell]] = []
    for label, group in context.groups.items():
        named = [(TableCell(label, "strong"), group)]
        if len(group) > 1:
            named += [(TableCell(f"seed {search.seed}", "sub"), [search]) for search in group]
        for name, searches in named:
            cells = _score_cells(context, searches, has_ranks=has_ranks, has_trainings=has_trainings)
            rows.append([name, *cells])
    table = DataTable(head, rows, "Searches and what they came to", text_columns=2)
    return Section("scoreboard", "Scoreboard", "table.html", {"table": table})


def _score_cells(
    context: ReportContext, group: Sequence[SearchRun], *, has_ranks: bool, has_trainings: bool
) -> list[str | TableCell]:
    """The cells of a row after its name; groups have means over the searches that were not dropped."""
    badges = [state_badge(search.info, reason=len(group) == 1) for search in group]
    if len(group) > 1:
        group = [search for search in group if not search.info.is_dropped]

    def last(key: str) -> list[float | None]:
        return [search.last.get(key) for search in group]

    cells: list[str | TableCell] = [
        TableCell(badges=list(dict.fromkeys(badges))),
        mean_and_std(last("valid_accuracy"), percent),
        confidence_interval(last("valid_accuracy"), percent),
        mean_and_std(last("discrete_accuracy"), percent),
        mean_and_std(last("entropy"), "{:.3f}".format),
    ]
    if has_ranks:
        ranks = [rank for search in group if (rank := context.rank(search)) is not None]
        places = [rank.rank for rank in ranks]
        text = f"{min(places):,}" if places else DASH
        if places and min(places) < max(places):
            text += f" to {max(places):,}"
        cells += [mean_and_std([rank.test for rank in ranks], percent2), text]
    if has_trainings:
        accuracies = [run.accuracy for run in context.comparable_trainings(group)]
        cells += [mean_and_std(accuracies, percent2), confidence_interval(accuracies, percent2)]
    seconds = [value for value in last("seconds") if value is not None]
    return [*cells, span(sum(seconds)) if seconds else DASH]
