"""The cell and how it formed: drawings that a slider replays, and strengths as heat maps."""

from dartboard.report.replay import MAX_STRENGTHS, replay_search, still_frame
from dartboard.report.sections.base import ReportContext, Section, genotype_text
from dartboard.viz.cell_graph import FAMILY_COLORS, op_family


def cell(context: ReportContext) -> Section | None:
    """The cells of searches over epochs, with a slider and a button that plays them."""
    shown = [search for search in context.searches if search.epochs]
    if not shown:
        return None
    names = context.names
    runs = [{"name": names[search], **replay_search(search, MAX_STRENGTHS // len(shown))} for search in shown]
    families = {op_family(op) for search in shown for op in search.space.ops}
    values = {
        "runs": runs,
        "has_many_archs": any(len(run["archs"]) > 2 for run in runs),
        "families": [name for name in FAMILY_COLORS if name in families and name != "none"],
        "left_out": max(run["left_out"] for run in runs),
    }
    about = (
        "The thicker a line, the stronger its best op. Lines in colour are what would be chosen "
        "then; grey ones would be left out."
    )
    return Section("cell", "How the cell formed", "cell.html", values, about)


def strengths(context: ReportContext) -> Section | None:
    """The strength of every op of every edge over the epochs."""
    if not any(len(search.epochs) > 1 for search in context.searches):
        return None
    about = (
        "A row for each candidate, a column for each epoch. The line marks the epoch that the slider shows."
    )
    values = {"key": "heat", "target": "heat"}
    return Section("strengths", "Strengths of ops, edge by edge", "heat.html", values, about)


def attention(context: ReportContext) -> Section | None:
    """The attention of each cell, for searches whose strengths are attention weights."""
    if not any(search.uses_attention and search.epochs for search in context.searches):
        return None
    about = (
        "The mean attention that each op of each edge is given, for every cell of the stack, at the epoch "
        "that the slider shows."
    )
    values = {"key": "map", "target": "attention-maps"}
    return Section("attention", "Attention maps", "heat.html", values, about)


def genotypes(context: ReportContext) -> Section | None:
    """The chosen cells of several searches or trainings side by side."""
    names = context.names
    chosen = {names[search]: search.genotype for search in context.searches if search.genotype is not None}
    if not context.searches:
        chosen = {run.info.name: run.genotype for run in context.runs.trainings}
    if len(chosen) < 2 and context.searches:
        return None
    values = {
        "texts": {name: genotype_text(genotype) for name, genotype in chosen.items()},
        "drawings": [{"name": name, **still_frame(genotype)} for name, genotype in chosen.items()],
    }
    title = "Cells side by side" if len(chosen) > 1 else "The cell"
    return Section("genotypes", title, "genotypes.html", values)
