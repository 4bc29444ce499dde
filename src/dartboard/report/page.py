"""Renders a report as one HTML file that needs no other file and runs no script but its own."""

import base64
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import dartboard
from dartboard.analysis.trajectory import group_by_settings
from dartboard.errors import DartboardError
from dartboard.report.report_runs import ReportRuns, SpaceTables
from dartboard.report.sections import cell, curves, results, settings
from dartboard.report.sections.base import ReportContext, Section, format_time, percent
from dartboard.report.sections.headline import make_headline

SECTIONS: tuple[Callable[[ReportContext], Section | None], ...] = (
    results.protocol,
    results.scoreboard,
    cell.cell,
    curves.health,
    curves.curves,
    cell.genotypes,
    cell.strengths,
    cell.attention,
    results.trainings,
    settings.commands,
    settings.settings,
)
"""The sections of a page, in this order; each is left out where it returns None."""
SCRIPTS = ("common.js", "cells.js", "heat.js", "charts.js", "live.js")
MIN_INTERVAL, MAX_INTERVAL = 5.0, 60.0
"""Seconds between two reloads of a live page."""
JSON_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
"""Characters that could end the script element around JSON."""


def render(runs: ReportRuns, tables: SpaceTables, *, live: bool = False) -> str:
    """The page about runs, with ranks from benchmark tables; a live page reloads itself."""
    context = ReportContext(runs, group_by_settings(runs.searches), tables)
    sections = [section for make in SECTIONS if (section := make(context)) is not None]
    plotly = _plotly() if any(section.charts for section in sections) else ""
    script = "\n".join(map(_asset, SCRIPTS))
    page = make_environment().get_template("page.html")
    return page.render(
        headline=make_headline(context),
        sections=sections,
        live=live,
        interval=_reload_interval(runs) if live else 0,
        version=dartboard.__version__,
        time=format_time(datetime.now(UTC).isoformat(timespec="seconds")),
        policy=_content_policy(script, plotly),
        style=Markup(_asset("style.css")),  # noqa: S704  # files of this package
        plotly=Markup(plotly),  # noqa: S704
        script=Markup(script),  # noqa: S704
    )


@cache
def make_environment() -> Environment:
    """Templates with autoescaping: whatever comes from files is text and stays text."""
    environment = Environment(
        loader=PackageLoader("dartboard.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"percent": percent, "script_json": script_json}
    return environment


def script_json(value: Any) -> Markup:
    """Values as JSON for a script element, in which nothing can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(JSON_ESCAPES))  # noqa: S704


def _reload_interval(runs: ReportRuns) -> float:
    """Seconds that an epoch takes, within limits: after that there is something new to see."""
    rows = [search.epochs[-1].row for search in runs.searches if search.epochs]
    rows += [training.rows[-1] for training in runs.trainings if training.rows]
    paces = [float(row["seconds"]) / (row["epoch"] + 1) for row in rows if "seconds" in row]
    return min(max(min(paces, default=MIN_INTERVAL), MIN_INTERVAL), MAX_INTERVAL)


@cache
def _content_policy(*scripts: str) -> str:
    """A Content-Security-Policy that allows these scripts alone, and no loading of anything."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    hashes = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _plotly() -> str:
    """Plotly's script from its Python package, which need not be imported for that."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise DartboardError("plotly is not installed, and reports draw with it; pip install plotly")
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    if not path.is_file():
        raise DartboardError(f"{path} is missing, and reports draw with it; install plotly again")
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script")
