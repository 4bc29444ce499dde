"""XNAS table 4: the mean index of the nodes that a normal cell's connections come from.

Of the seven cells two do not have what the table says, whichever published list is read: SNAS' has the
sources 0 and 1 four times each, so 0.5; PNAS' adds up to 1.0. Both values are reported.
"""

from collections.abc import Mapping

from matplotlib.figure import Figure

from dartboard.space import PUBLISHED, get_published, mean_source
from dartboard.viz.line_styles import COLORS
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

XNAS = "XNAS"
TABLE = {
    "SNAS": ("snas", 0.625),
    "PNAS": ("pnas", 0.5),
    "Amoeba-A": ("amoebanet-a", 0.9),
    "NASNet": ("nasnet-a", 0.4),
    "DARTS": ("darts-v2", 0.625),
    "ASAP": ("asap", 0.875),
    XNAS: ("xnas", 1.375),
}
"""The paper's name: ours, and the paper's number."""
DEEPEST, SAME = "XNAS' cell is the deepest of the table", "the numbers are the table's"


@reproduction(
    "xnas-table-4",
    about="how deep the published normal cells are, by the mean index of the nodes they read",
    claim="XNAS' cell is much deeper than a typical cell: 1.375 against 0.4 to 0.9",
    rules={
        DEEPEST: "its mean source index is larger than that of every other cell of the table",
        SAME: "the published cells have the mean source indices that the table gives",
    },
    minutes=0.1,
    laptop=Scale(),
)
def reproduce(options: RunOptions, scale: Scale) -> ReproductionResult:  # noqa: ARG001
    """The measure of the published lists beside the table's numbers."""
    depths = {name: measured(ours) for name, (ours, _) in TABLE.items()}
    others = {name: measured(name) for name in PUBLISHED if name not in {ours for ours, _ in TABLE.values()}}
    same = [name for name, (_, paper) in TABLE.items() if abs(depths[name] - paper) < 1e-9]
    differing = [f"{name} {depths[name]:g} for {TABLE[name][1]:g}" for name in TABLE if name not in same]
    rest = max(value for name, value in depths.items() if name != XNAS)
    return ReproductionResult(
        rows=[Row(name, paper, depths[name]) for name, (_, paper) in TABLE.items()],
        parts={
            DEEPEST: PartResult(depths[XNAS] > rest, f"{depths[XNAS]:g}, the others at most {rest:g}", None),
            SAME: PartResult(not differing, f"{len(same)} of {len(TABLE)} are", None),
        },
        sentence=f"XNAS' cell has {depths[XNAS]:g}, the others of the table at most {rest:g}; {len(same)} of "
        f"{len(TABLE)} numbers are the paper's{', not ' + ' and '.join(differing) if differing else ''}.",
        size=f"{len(TABLE)} cells of the table, {len(others)} others",
        seeds=0,
        figures={"depths": draw(depths, others)},
        numbers={"table": depths, "others": others},
        remarks=remarks(depths[XNAS], others),
    )


def measured(name: str) -> float:
    """The mean source index of a published normal cell."""
    return mean_source(get_published(name).cells["normal"])


def remarks(xnas_depth: float, others: Mapping[str, float]) -> list[str]:
    """Which cells outside the table are as deep as XNAS' or deeper."""
    deep = [f"{name} ({value:g})" for name, value in others.items() if value >= xnas_depth]
    return [f"Cells that the table leaves out are as deep or deeper: {', '.join(deep)}."] if deep else []


def draw(depths: Mapping[str, float], others: Mapping[str, float]) -> Figure:
    """The cells of the table with the paper's numbers, and below the others."""
    figure = Figure((7, 5.2), layout="constrained")
    axes = figure.add_subplot(xlabel="mean index of the node a connection comes from")
    names = [*sorted(depths, key=depths.__getitem__), *sorted(others, key=others.__getitem__)]
    places = {name: index + (name in others) for index, name in enumerate(names)}
    axes.barh(
        [places[n] for n in depths], list(depths.values()), color=COLORS[0], label="in the table, measured"
    )
    axes.barh([places[n] for n in others], list(others.values()), color="#C3CBD3", label="not in the table")
    paper = [(value, places[name]) for name, (_, value) in TABLE.items()]
    axes.scatter(*zip(*paper, strict=True), marker="D", color=COLORS[1], zorder=3, label="the paper's number")
    axes.set_yticks(list(places.values()), list(places))
    axes.invert_yaxis()
    axes.legend(loc="upper right")
    return figure
