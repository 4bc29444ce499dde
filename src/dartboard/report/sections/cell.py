"""The cell and how it formed: drawings that a slider replays, and strengths as heat maps."""

from typing import Any

from dartboard.report.html import Html, data, join, tag
from dartboard.report.models import SearchFound
from dartboard.report.replay import MOST, replay, still
from dartboard.report.sections.base import Context, Section
from dartboard.report.sections.headline import genotype_text
from dartboard.viz.cell_graph import FAMILY_COLORS, op_family


def cell(context: Context) -> Section | None:
    """The cells of searches over epochs, with a slider and a button that plays them."""
    shown = [own for own in context.searches if own.moments]
    if not shown:
        return None
    names = context.names
    runs = [{"name": names[own], **replay(own, MOST // len(shown))} for own in shown]
    body = [_pickers(runs), _player(runs), tag("div", class_="cells", id="cells"), _legend(shown)]
    if left := [own["left_out"] for own in runs if own["left_out"]]:
        body.append(
            tag("p", f"To keep the page small, {max(left)} epochs in between are left out.", class_="about")
        )
    return Section(
        "cell",
        "How the cell formed",
        join([*body, data("replays", runs)]),
        "The thicker a line, the stronger its best op. Lines in colour are what would be chosen "
        "then; grey ones would be left out.",
    )


def _pickers(runs: list[dict[str, Any]]) -> Html:
    """Which run is shown, and which cell of it where there are many."""
    options = [tag("option", own["name"], value=str(place)) for place, own in enumerate(runs)]
    run = tag("label", "run ", tag("select", *options, id="pick-run"), hidden=len(runs) < 2)
    many = any(len(own["archs"]) > 2 for own in runs)
    arch = tag("label", "cell ", tag("select", id="pick-arch"), hidden=not many)
    return tag("div", run, arch, class_="pickers", hidden=len(runs) < 2 and not many)


def _player(runs: list[dict[str, Any]]) -> Html:
    last = len(runs[0]["words"]) - 1
    return tag(
        "div",
        tag("button", "Play", type="button", id="play", aria_pressed="false"),
        tag("label", "Epoch", for_="epoch", class_="hidden"),
        tag(
            "input", type="range", id="epoch", min="0", max=str(last), value=str(last), step="1",
            aria_valuetext=runs[0]["words"][last],
        ),
        tag("output", runs[0]["words"][last], id="epoch-words", for_="epoch"),
        class_="player",
    )  # fmt: skip


def _legend(searches: list[SearchFound]) -> Html:
    ops = [op for own in searches for op in own.space.ops]
    names = [name for name in FAMILY_COLORS if name in {op_family(op) for op in ops}]
    items = [tag("li", tag("span", class_=f"swatch family-{name}"), name) for name in names if name != "none"]
    return tag("ul", *items, class_="legend")


def strengths(context: Context) -> Section | None:
    """The strength of every op of every edge over the epochs."""
    if not any(len(own.moments) > 1 for own in context.searches):
        return None
    return Section(
        "strengths",
        "Strengths of ops, edge by edge",
        join([*_key("heat"), tag("div", id="heat")]),
        "A row for each candidate, a column for each epoch. The line marks the epoch that the slider shows.",
    )


def _key(name: str) -> list[Html]:
    """From what to what colours go, and a note where they do not begin at nothing; scripts fill them in."""
    ends = [tag("span", id=f"{name}-{end}") for end in ("least", "most")]
    scale = tag("p", ends[0], tag("span", class_="scale"), ends[1], class_="key")
    return [scale, tag("p", id=f"{name}-note", class_="about", hidden=True)]


def attention(context: Context) -> Section | None:
    """What each cell attends to, for searches whose strengths are attention."""
    if not any(own.attends and own.moments for own in context.searches):
        return None
    return Section(
        "attention",
        "Attention maps",
        join([*_key("map"), tag("div", id="attention-maps")]),
        "The mean attention that each op of each edge is given, for every cell of the stack, at the epoch "
        "that the slider shows.",
    )


def genotypes(context: Context) -> Section | None:
    """The chosen cells of several searches or trainings beside each other."""
    names = context.names
    found = {names[own]: own.genotype for own in context.searches if own.genotype is not None}
    if not context.searches:
        found = {own.origin.name: own.genotype for own in context.material.trainings}
    if len(found) < 2 and context.searches:
        return None
    drawings = [{"name": name, **still(own)} for name, own in found.items()]
    cards = [
        tag("article", tag("h3", name), tag("div", class_="still", data_place=str(place)), genotype_text(own))
        for place, (name, own) in enumerate(found.items())
    ]
    heading = "Cells side by side" if len(found) > 1 else "The cell"
    return Section("genotypes", heading, join([tag("div", *cards, class_="side"), data("stills", drawings)]))
