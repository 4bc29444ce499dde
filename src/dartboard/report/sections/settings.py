"""Commands to continue, and everything that is needed to repeat the runs."""

import shlex
from collections.abc import Sequence
from typing import Any

import yaml

from dartboard.report.report_runs import RunInfo
from dartboard.report.sections.base import DASH, DataTable, ReportContext, Section, format_time
from dartboard.runs import flat
from dartboard.utils.text import command

VERSIONS = ("dartboard", "python", "torch", "numpy", "platform", "host", "device", "threads", "cuda")


def commands(context: ReportContext) -> Section:
    """The exact commands to resume, train and export."""
    with_cell = {search.path for search in context.searches if search.genotype is not None}
    blocks = []
    for info in context.runs.infos:
        path = str(info.path)
        words: dict[str, list[str]] = {}
        if info.state != "finished":
            words["Resume"] = [info.kind, "--resume", path]
        if info.kind == "train":
            words["Export the network"] = ["export", path, "--format", "onnx"]
        elif trained := sorted(info.path.glob("final/found-*")):  # of a protocol
            words["Export the best network"] = ["export", str(trained[0]), "--format", "onnx"]
        elif info.path in with_cell:  # a search has none before the end of its first epoch
            out = f"{path}-trained"
            words["Train the found cell"] = ["train", path, "--recipe", "quick", "--out", out]
            words["Export the trained network"] = ["export", out, "--format", "onnx"]
        plugins = info.setting("plugins") or ()
        texts = {title: command(*arguments, plugins=plugins) for title, arguments in words.items()}
        blocks.append((info, texts | {"Write this report anew": command("report", path)}))
    return Section("commands", "Go on from here", "commands.html", {"blocks": blocks})


def settings(context: ReportContext) -> Section:
    """Differences, resolved configurations and the environments of the runs."""
    infos = context.runs.infos
    blocks = []
    for info in infos:
        newest: Any = info.environments[-1]
        versions = {name: str(newest[name]) for name in VERSIONS if newest.get(name) is not None}
        git = newest.get("git")
        if isinstance(git, dict) and git.get("revision"):
            versions["revision"] = f"{git['revision']}{' with changes' if git.get('dirty') else ''}"
        starts = []
        for environment in info.environments:
            typed = environment.get("command")
            text = shlex.join(map(str, typed)) if isinstance(typed, list) else str(typed)
            starts.append(f"{format_time(environment.get('time', ''))}: {text}")
        blocks.append({
            "id": f"config-{info.path}",
            "title": "Resolved configuration" if len(infos) == 1 else f"{info.kind} {info.name}",
            "config": yaml.safe_dump(dict(info.config), sort_keys=False, allow_unicode=True),
            "versions": versions,
            "starts": starts,
        })  # fmt: skip
    values = {"differences": _differences(infos), "blocks": blocks}
    return Section("settings", "Settings", "settings.html", values)


def _differences(infos: Sequence[RunInfo]) -> DataTable | None:
    """The settings in which runs of the same kind differ, a column for each run."""
    kinds = {info.kind for info in infos}
    compared = [info for info in infos if info.kind == "search"] or infos
    if len(compared) < 2 or (len(kinds) > 1 and len(compared) == len(infos)):
        return None
    configs = [flat(dict(info.config)) for info in compared]
    names = list(dict.fromkeys(name for config in configs for name in config))
    rows = [
        [name, *(str(config.get(name, DASH)) for config in configs)]
        for name in names
        if name != "cell" and len({str(config.get(name)) for config in configs}) > 1
    ]
    head = ["setting", *(info.name for info in compared)]
    return DataTable(head, rows, "Settings that differ", text_columns=len(head)) if rows else None
