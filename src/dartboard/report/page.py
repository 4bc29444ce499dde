"""A page from its sections: one HTML file that needs nothing else, and that runs no script but its own."""

import base64
import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import dartboard
from dartboard.analysis.trajectories import grouped
from dartboard.errors import DartboardError
from dartboard.report.html import Html, data, tag
from dartboard.report.models import Material
from dartboard.report.sections import (
    cell,
    curves,
    headline,
    health,
    protocol,
    scoreboard,
    settings,
    training,
)
from dartboard.report.sections.base import Context, Section
from dartboard.report.standing import Oracles
from dartboard.report.words import moment

SECTIONS: tuple[Callable[[Context], Section | None], ...] = (
    protocol.protocol,
    scoreboard.scoreboard,
    cell.cell,
    health.health,
    curves.curves,
    cell.genotypes,
    cell.strengths,
    cell.attention,
    training.training,
    settings.commands,
    settings.settings,
)
"""What a page has, in this order; a section that has nothing to say is left out."""
SCRIPTS = ("common.js", "cells.js", "heat.js", "charts.js", "live.js")
SOONEST, LATEST = 5.0, 60.0
"""Seconds between two looks of a live page at its file."""


def render(material: Material, oracles: Oracles, *, live: bool = False) -> str:
    """The page about runs.

    Args:
        material: The runs.
        oracles: Who knows where cells stand.
        live: Whether the page shall look for a newer one by itself.
    """
    context = Context(material, grouped(material.searches), oracles, live)
    sections = [made for make in SECTIONS if (made := make(context)) is not None]
    library = _plotly() if any("data-chart" in own.body for own in sections) else ""
    script = "\n".join(map(_asset, SCRIPTS))
    name = f"{headline.title(context)} \N{MIDDLE DOT} dartboard"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy([script, library])),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", name),
        tag("style", Html(_asset("style.css"))),
    )
    waiting = tag("script", Html(library), type="text/plain", id="plotly")  # until the page is drawn
    body = tag("body", *_body(context, sections), waiting, tag("script", Html(script)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _body(context: Context, sections: Sequence[Section]) -> list[Html]:
    links = (tag("a", own.title, href=f"#{own.ident}") for own in sections)
    contents = tag("nav", *links, aria_label="Contents")
    seconds = _pause(context.material) if context.live else 0
    watch = tag(
        "p",
        "This page looks for news every ",
        tag("span", f"{seconds:.0f}"),
        " seconds. ",
        tag("button", "Pause", type="button", id="pause", aria_pressed="false"),
        class_="live",
        role="status",
    )
    main = tag("main", headline.headline(context), contents, *(own.html() for own in sections), id="top")
    return [*([watch] if context.live else []), main, _footer(), data("page", {"live": seconds})]


def _pause(material: Material) -> float:
    """How long an epoch takes, within limits: the time after which there is something new to see."""
    rows = [own.moments[-1].row for own in material.searches if own.moments]
    rows += [own.rows[-1] for own in material.trainings if own.rows]
    paces = [float(row["seconds"]) / (row["epoch"] + 1) for row in rows if "seconds" in row]
    return min(max(min(paces, default=SOONEST), SOONEST), LATEST)


def _footer() -> Html:
    when = moment(datetime.now(UTC).isoformat(timespec="seconds"))
    return tag("footer", f"Written by dartboard {dartboard.__version__} on {when}.")


def _policy(scripts: Sequence[str]) -> str:
    """Lets the page run these scripts alone, and load nothing."""
    allowed = " ".join(f"'sha256-{_digest(own)}'" for own in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """The library that draws charts, out of the Python package, which need not be imported for it."""
    found = find_spec("plotly")
    if found is None or found.origin is None:
        raise DartboardError("plotly is not installed, and reports draw with it; pip install plotly")
    path = Path(found.origin).parent / "package_data" / "plotly.min.js"
    if not path.is_file():
        raise DartboardError(f"{path} is missing, and reports draw with it; install plotly again")
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script")
