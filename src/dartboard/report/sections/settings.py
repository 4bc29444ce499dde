"""How to go on from here, and everything that it takes to repeat what is shown."""

import shlex

import yaml

from dartboard.report.html import Html, join, tag
from dartboard.report.models import Origin
from dartboard.report.sections.base import Context, Section, copyable, facts, table
from dartboard.report.words import moment
from dartboard.runs import flat
from dartboard.utils.text import command

VERSIONS = ("dartboard", "python", "torch", "numpy", "platform", "host", "device", "threads", "cuda")


def commands(context: Context) -> Section:
    """The exact commands to resume, train and export."""
    origins = context.material.origins
    found = {own.path for own in context.searches if own.genotype is not None}
    blocks = [
        _block(own, commands_of(own, has_cell=own.path in found), folded=len(origins) > 1, open_=place == 0)
        for place, own in enumerate(origins)
    ]
    return Section("commands", "Go on from here", join(blocks))


def _block(origin: Origin, wanted: dict[str, str], *, folded: bool, open_: bool) -> Html:
    rows = [
        tag("div", tag("h3", what), copyable(words, f"the command: {what}"), class_="command")
        for what, words in wanted.items()
    ]
    if not folded:
        return join(rows)
    summary = tag("summary", f"{origin.kind} {origin.name}")
    return tag("details", summary, *rows, id=f"commands-{origin.path}", open=open_)


def commands_of(origin: Origin, *, has_cell: bool) -> dict[str, str]:
    """By what they do, commands that can be typed as they are.

    Args:
        origin: Of the run.
        has_cell: Whether it is a search with a cell to train; it has none before its first epoch is over.
    """
    path = str(origin.path)
    found: dict[str, list[str]] = {}
    if origin.state != "finished":
        found["Resume"] = [origin.kind, "--resume", path]
    if origin.kind == "train":
        found["Export the network"] = ["export", path, "--format", "onnx"]
    elif trained := sorted(origin.path.glob("final/found-*")):  # of a protocol
        found["Export the best network"] = ["export", str(trained[0]), "--format", "onnx"]
    elif has_cell:
        place = f"{path}-trained"
        found["Train the found cell"] = ["train", path, "--recipe", "quick", "--out", place]
        found["Export the trained network"] = ["export", place, "--format", "onnx"]
    plugins = origin.setting("plugins") or ()
    made = {what: command(*words, plugins=plugins) for what, words in found.items()}
    return made | {"Write this report anew": command("report", path)}


def settings(context: Context) -> Section:
    """What differs, the resolved configurations and what the runs were started with."""
    origins = context.material.origins
    parts = [_differences(origins)] if len(origins) > 1 else []
    for own in origins:
        text = yaml.safe_dump(dict(own.config), sort_keys=False, allow_unicode=True)
        made = join([copyable(text, "the configuration"), tag("h3", "Made with"), _made_with(own)])
        name = "Resolved configuration" if len(origins) == 1 else f"{own.kind} {own.name}"
        parts.append(tag("details", tag("summary", name), made, id=f"config-{own.path}"))
    return Section("settings", "Settings", join(parts))


def _differences(origins: list[Origin]) -> Html:
    """The settings by which runs of the same kind differ, a column a run."""
    kinds = {own.kind for own in origins}
    several = [own for own in origins if own.kind == "search"] or origins
    if len(several) < 2 or (len(kinds) > 1 and len(several) == len(origins)):
        return Html("")
    values = [flat(dict(own.config)) for own in several]
    names = list(dict.fromkeys(name for own in values for name in own))
    rows = [
        [name, *(str(own.get(name, "\N{EN DASH}")) for own in values)]
        for name in names
        if name != "cell" and len({str(own.get(name)) for own in values}) > 1
    ]
    if not rows:
        return Html("")
    head = ["setting", *(own.name for own in several)]
    return table(head, rows, words=len(head), caption="Settings that differ")


def _made_with(origin: Origin) -> Html:
    last = origin.starts[-1]
    known = {name: str(last[name]) for name in VERSIONS if last.get(name) is not None}
    source = last.get("git")
    if isinstance(source, dict) and source.get("revision"):
        known["revision"] = f"{source['revision']}{' with changes' if source.get('dirty') else ''}"
    starts = [f"{moment(own.get('time', ''))}: {_typed(own.get('command'))}" for own in origin.starts]
    return join([facts(known), tag("ul", *(tag("li", tag("code", own)) for own in starts), class_="starts")])


def _typed(command: object) -> str:
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)
