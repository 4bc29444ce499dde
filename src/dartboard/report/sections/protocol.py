"""What a protocol came to: found cells against random ones, with all seeds."""

from collections.abc import Mapping
from typing import Any

from dartboard.report.html import Html, join, tag
from dartboard.report.sections.base import Context, Section, table
from dartboard.report.words import percent
from dartboard.utils.text import span

HEAD = ("", "networks", "seeds", "mean", "deviation", "parameters", "time")


def protocol(context: Context) -> Section | None:
    """The arms of each protocol that is finished."""
    done = [own for own in context.material.protocols if own.result is not None]
    if not done:
        return None
    return Section(
        "protocol", "Found against random", join(_arms(own.origin.name, own.result or {}) for own in done)
    )


def _arms(name: str, result: Mapping[str, Any]) -> Html:
    rows = [
        [
            arm,
            f"{len(own['networks']):,}",
            f"{len(own['finals']):,}",
            percent(own["summary"]["mean"], 2),
            percent(own["summary"]["deviation"], 2),
            f"{own['parameters']:,}",
            span(own["seconds"]["total"]),
        ]
        for arm, own in result["arms"].items()
    ]
    words = f"Accuracies are of {result['measured_on']} images, after the last epoch."
    return join([table(HEAD, rows, caption=f"Arms of {name}"), tag("p", words, class_="about")])
