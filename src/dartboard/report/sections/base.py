"""What sections of a page are made from and turn into."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from dartboard.report.html import Html, join, tag
from dartboard.report.models import Material, Origin, SearchFound, TrainFound
from dartboard.report.standing import Oracles, Rank
from dartboard.utils.statistics import mean_interval


@dataclass(frozen=True)
class Context:
    """What a page is about.

    Args:
        material: The runs.
        groups: By label, searches that differ by their seed alone.
        oracles: Who knows where cells stand.
        live: Whether the page will be written again.
    """

    material: Material
    groups: Mapping[str, Sequence[SearchFound]]
    oracles: Oracles
    live: bool = False

    @property
    def searches(self) -> Sequence[SearchFound]:
        """All searches."""
        return self.material.searches

    @property
    def alone(self) -> SearchFound | None:
        """The search, if there is just one."""
        return self.searches[0] if len(self.searches) == 1 else None

    @property
    def names(self) -> dict[SearchFound, str]:
        """What each search is called: its label and seed, or the directory where that is not clear."""
        return {
            own: label if len(self.searches) == 1 else f"{label}, seed {own.seed}"
            for label, group in self.groups.items()
            for own in group
        }

    def trainings_of(self, search: SearchFound) -> list[TrainFound]:
        """The trainings of what a search found."""
        return [own for own in self.material.trainings if own.genotype == search.genotype]

    def compared(self, searches: Sequence[SearchFound]) -> list[TrainFound]:
        """The trainings of what searches found that can be compared, each once."""
        return [
            own for own in self.material.compared if any(own.genotype == each.genotype for each in searches)
        ]

    def rank(self, search: SearchFound) -> Rank | None:
        """Where a search's cell stands, on the first data set that is known."""
        return next(iter(self.oracles.ranks(search)), None)


@dataclass(frozen=True)
class Section:
    """A part of a page with a title of its own.

    Args:
        ident: For links.
        title: What stands above it and in the list of contents.
        body: What it holds.
        about: A sentence below the title.
    """

    ident: str
    title: str
    body: Html
    about: str = ""

    def html(self) -> Html:
        """The section as part of a page."""
        about = tag("p", self.about, class_="about") if self.about else Html("")
        head = tag("h2", self.title, id=f"{self.ident}-title")
        return tag("section", head, about, self.body, id=self.ident, aria_labelledby=f"{self.ident}-title")


def tile(label: str, value: str, note: str = "") -> Html:
    """A number worth seeing first, with what it is above it and what to make of it below."""
    parts = [tag("dt", label), tag("dd", value, class_="value")]
    parts += [tag("dd", note, class_="note")] if note else []
    return tag("div", *parts, class_="tile")


def tiles(*parts: Html) -> Html:
    """Numbers beside each other."""
    return tag("dl", *parts, class_="tiles")


def facts(pairs: Mapping[str, str]) -> Html:
    """Names and values, below each other."""
    return tag(
        "dl", *(tag("div", tag("dt", key), tag("dd", value)) for key, value in pairs.items()), class_="facts"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1, caption: str = "") -> Html:
    """A table that scrolls by itself where the page is narrow.

    Args:
        head: The names of columns.
        rows: Their cells, HTML or text; those of a row in the order of `head`.
        words: So many first columns are words; the others are numbers, which stand below each other.
        caption: What the table is, for people who do not see it.
    """

    def row(cells: Sequence[str], kind: str) -> Html:
        made = [
            tag(kind, own, class_=None if place < words else "number", scope="col" if kind == "th" else None)
            for place, own in enumerate(cells)
        ]
        return tag("tr", *made)

    inner = [tag("caption", caption)] if caption else []
    inner += [tag("thead", row(head, "th")), tag("tbody", *(row(own, "td") for own in rows))]
    return tag("div", tag("table", *inner), class_="scroll", tabindex="0", role="region", aria_label=caption)


def copyable(words: str, what: str) -> Html:
    """A text with a button that copies it."""
    button = tag("button", "Copy", type="button", class_="copy", aria_label=f"Copy {what}")
    return tag("div", tag("pre", tag("code", words), tabindex="0"), button, class_="copyable")


def mean_and_spread(numbers: Sequence[float | None], form: Any) -> str:
    """Such as `91.3 % ± 0.4`; a dash where nothing is known."""
    known = [own for own in numbers if own is not None]
    if not known:
        return "\N{EN DASH}"
    spread = f" \N{PLUS-MINUS SIGN} {form(stdev(known)).removesuffix(' %')}" if len(known) > 1 else ""
    return f"{form(fmean(known))}{spread}"


def interval(numbers: Sequence[float | None], form: Any) -> str:
    """Where the mean lies with 95 % confidence, such as `90.9 to 91.7 %`; a dash of fewer than two."""
    ends = mean_interval([own for own in numbers if own is not None])
    return "\N{EN DASH}" if ends is None else f"{form(ends[0]).removesuffix(' %')} to {form(ends[1])}"


def badge(origin: Origin) -> Html:
    """The state of a run, and why its sweep goes no further with it if that is so."""
    state = tag("span", origin.state, class_=f"badge {origin.state}")
    if origin.given_up is None or origin.member is None:
        return state
    reason = tag("span", origin.member.reason, class_="sub")
    return join([tag("span", origin.member.state, class_="badge stopped"), reason], " ")


def several(parts: Sequence[Html]) -> Html:
    """Parts after each other."""
    return join(parts)
