"""The rows of the scoreboard as texts for people, and as plain numbers for programs."""

from collections.abc import Callable, Sequence
from typing import Any

from dartboard.scoreboard.published import Published
from dartboard.scoreboard.rows import ScoreboardRow
from dartboard.utils.statistics import Summary

NOTHING = "-"
Column = tuple[str, Callable[[ScoreboardRow], str]]


def cells(rows: Sequence[ScoreboardRow], datasets: Sequence[str]) -> list[tuple[str, ...]]:
    """Rows as texts, the names of the columns first; accuracies, regrets and differences in percent.

    Columns with what a paper found are there if it found anything of these methods.
    """
    columns = [*_columns(datasets), *(own for own in PAPER if any(own[1](row) != NOTHING for row in rows))]
    return [tuple(name for name, _ in columns), *(tuple(say(row) for _, say in columns) for row in rows)]


def _columns(datasets: Sequence[str]) -> list[Column]:
    return [
        ("method", lambda row: row.label),
        ("seeds", _seeds),
        *((f"test {name}", _test(name)) for name in datasets),
        ("regret", lambda row: _summary(row.regret)),
        ("entropy", lambda row: _number(row.entropy)),
        ("seconds", lambda row: NOTHING if row.seconds is None else f"{row.seconds:,.0f}"),
        ("Kendall", lambda row: _number(row.kendall)),
        ("Spearman", lambda row: _number(row.spearman)),
        ("to random", _to_random),
    ]


PAPER: tuple[Column, ...] = (
    ("paper, transfer", lambda row: _published(row.transfer)),
    ("paper, direct", lambda row: _published(row.direct)),
)


def _seeds(row: ScoreboardRow) -> str:
    if row.kind == "search":
        return f"{row.done}/{row.done + len(row.missing)}"
    return f"{row.done} draws" if row.kind == "baseline" else NOTHING


def _test(dataset: str) -> Callable[[ScoreboardRow], str]:
    return lambda row: _summary(row.tests.get(dataset))


def _summary(own: Summary | None) -> str:
    return NOTHING if own is None else _spread(own.mean, own.deviation)


def _spread(mean: float, deviation: float | None) -> str:
    return f"{100 * mean:.2f}" + ("" if deviation is None else f" +- {100 * deviation:.2f}")


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _to_random(row: ScoreboardRow) -> str:
    """The difference with its interval, and what that shows."""
    own = row.difference
    if own is None:
        return NOTHING
    ends = "" if own.low is None or own.high is None else f" ({100 * own.low:+.2f} to {100 * own.high:+.2f})"
    return f"{100 * own.mean:+.2f}{ends}, {row.verdict}"


def _published(own: Published | None) -> str:
    """The numbers of all data sets, in their order."""
    if own is None:
        return NOTHING
    return " / ".join(_spread(mean, own.deviations[name]) for name, mean in own.means.items())


def numbers(row: ScoreboardRow, datasets: Sequence[str]) -> dict[str, Any]:
    """A row as plain values, one a column, accuracies as shares; None where there is none."""
    found: dict[str, Any] = {"method": row.label, "kind": row.kind, "done": row.done}
    found["missing"] = " ".join(map(str, row.missing))
    summaries = {f"test {name}": row.tests.get(name) for name in datasets} | {"regret": row.regret}
    for name, own in summaries.items():
        found[name] = None if own is None else own.mean
        found[f"{name} deviation"] = None if own is None else own.deviation
    found |= {name: getattr(row, name) for name in ("entropy", "seconds", "kendall", "spearman")}
    gap = row.difference
    found["to random"] = None if gap is None else gap.mean
    found["to random low"] = None if gap is None else gap.low
    found["to random high"] = None if gap is None else gap.high
    return found | {"verdict": row.verdict}
