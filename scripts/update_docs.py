"""Update the pages of the documentation that show results.

    dartboard bench --config results/nano/bench.yaml --results results/nano --out results/nano --show
    dartboard reproduce xnas-figure-3 --out papers/results
    python scripts/update_docs.py

Pages contain generated blocks between two comments: `<!-- table NAME -->` ... `<!-- end of table -->` is
the table of a scoreboard, `<!-- measured LABEL... -->` the results of searches on all scoreboards, and
`<!-- reproduced NAME... -->` the verdicts of reproductions. The pages of docs/papers are generated
completely from the records of reproductions, with copies of their figures.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from dartboard_papers import PAPERS, Reproduction, ReproductionRecord, Verdict, in_order, read_record
from dartboard_papers.formatting import as_sentence, escape_cell, format_seconds
from dartboard_papers.record import OUTDATED, RECORD

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- (table|measured|reproduced) ([\w -]+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
BENCHES = ("nano", "nb201", "oneshot1", "oneshot2", "oneshot3")
"""Scoreboards in results/ that the pages of methods show."""
Rows = dict[str, dict[str, str]]
"""Rows of a table by their first cell, each a cell by column."""
PAGES = "papers"
"""Folder of the pages of the papers, below docs."""
FIGURES = "figures/papers"
"""Folder of the figures, relative to the pages."""
NOT_RUN = "not run yet"
EARLIER = "judged by an earlier rule"

HEAD = """\
# The papers on a laptop

Figures and tables of the papers behind dartboard, recomputed at small scale: what each reports, what was
measured here, and whether its claim held. The page of a paper says what was seen and what is unlike the
paper, that of a part has its rules and pictures, and `papers/results/NAME/page.md` all numbers. These pages
are generated from the records there by `scripts/update_docs.py`.
"""
METHOD = """\
## How claims are tested

```sh
dartboard reproduce --list
dartboard reproduce xnas-figure-3
```

Each reproduction prints a time estimate first and finishes in minutes on two cores; `--full` uses the
paper's own settings, where it states them, and is meant for a GPU. All its flags are in the
[reference](../reference/commands/reproduce.md).

A claim has parts, each with a rule that says when it held and how often the rule passes by chance although
that part is false. Rules are fixed before a run; where one was changed after a first result, the section
says so. *Held* means that all parts did at this scale, *partly* that some did, *did not hold* that none
did, *not testable here* that the experiment cannot decide it. Where chance plays a part there are at least
5 seeds, and none is left out: `papers/results/NAME/numbers.json` has all values. Times were measured on a
machine with other load, and are up to ten times those on an idle one, which `dartboard reproduce --list`
prints.
"""


def updated(page: str, records: Mapping[str, ReproductionRecord]) -> str:
    """The text of a page with up-to-date generated blocks."""
    makers = {"table": _table, "measured": measured, "reproduced": lambda names: reproduced(names, records)}
    return BLOCK.sub(lambda match: f"{match[1]}\n{makers[match[2]](match[3])}\n{match[4]}", page)


def _table(name: str) -> str:
    return (ROOT / "results" / name / "table.md").read_text(encoding="utf-8")


def _rows(name: str) -> Rows:
    """The table of a scoreboard."""
    head, _, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _table(name).splitlines()
        if line.startswith("|")
    ]
    return {line[0]: dict(zip(head, line, strict=True)) for line in lines}


def measured(labels: str) -> str:
    """Results of searches on every scoreboard that has them, next to the paper's figures if it states some.

    Args:
        labels: Row labels of the tables, separated by spaces.
    """
    tables = {name: _rows(name) for name in BENCHES}
    lines = [
        "| benchmark | search | seeds | test accuracy, % | regret | random search | to random search |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, rows in tables.items():
        for label in (label for label in labels.split() if label in rows):
            row, first = rows[label], next(column for column in rows[label] if column.startswith("test "))
            cells = (row["seeds"], row[first], row["regret"], rows["random"][first], row["to random"])
            lines.append(f"| `{name}` | `{label}` | {' | '.join(cells)} |")
    return "\n".join([*lines, *_paper_table(tables["nb201"], labels.split()), ""])


def _paper_table(rows: Rows, labels: Sequence[str]) -> Iterator[str]:
    """Our accuracies next to those of GAEA's table 2, if it has any of these searches."""
    known = [label for label in labels if label in rows and _has_numbers(rows[label])]
    if not known:
        return
    yield "\n| NAS-Bench-201 | search | here | paper, transferred | paper, direct |"
    yield "|---|---|--:|--:|--:|"
    for label in known:
        row = rows[label]
        names = [column.removeprefix("test ") for column in row if column.startswith("test ")]
        paper = [_split_cell(row[f"paper, {how}"], len(names)) for how in ("transfer", "direct")]
        for name, transferred, direct in zip(names, *paper, strict=True):
            yield f"| {name} | `{label}` | {row[f'test {name}']} | {transferred} | {direct} |"


def _has_numbers(row: Mapping[str, str]) -> bool:
    return any(row[f"paper, {how}"] != "-" for how in ("transfer", "direct"))


def _split_cell(cell: str, count: int) -> list[str]:
    return cell.split(" / ") if cell != "-" else ["-"] * count


def reproduced(names: str, records: Mapping[str, ReproductionRecord]) -> str:
    """Table of reproductions: part of the paper, claim, verdict and observation.

    Args:
        names: Names of reproductions, separated by spaces.
        records: Their records by name.
    """
    lines = ["| part | claim of the paper | here | what was seen |", "|---|---|---|---|"]
    for name in names.split():
        record = records[name]
        reproduction = record.reproduction
        cells = (
            escape_cell(as_sentence(reproduction.claim)),
            f"**{record.verdict}**{OUTDATED if record.is_outdated else ''}",
            escape_cell(as_sentence(record.sentence)),
        )
        lines.append(f"| [{reproduction.part}](../{PAGES}/{page_path(reproduction)}) | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def read_records(folder: Path) -> dict[str, ReproductionRecord]:
    """Records of all reproductions that were run, by name."""
    records = [read_record(path.parent) for path in sorted(folder.glob(f"*/{RECORD}"))]
    return {record.name: record for record in records}


def papers_pages(records: Mapping[str, ReproductionRecord]) -> dict[str, str]:
    """Pages by path below docs/papers: an index, one for each paper and one for each part of a paper."""
    pages = {"index.md": "\n".join([HEAD, *_counts(records), *_overview(records), METHOD])}
    for paper, group in groupby(in_order(), key=lambda item: item.paper):
        items = list(group)
        head = [f"# {PAPERS[paper]}\n", "[All papers, and how claims are tested](../index.md).\n"]
        pages[f"{paper}/index.md"] = "\n".join([*head, *_paper_overview(items, records)])
        for item in items:
            pages[page_path(item)] = _part_page(item, records.get(item.name))
    return pages


def page_path(item: Reproduction[Any]) -> str:
    """The page of a reproduction, below docs/papers."""
    return f"{item.paper}/{item.name.removeprefix(f'{item.paper}-')}.md"


def _part_page(item: Reproduction[Any], record: ReproductionRecord | None) -> str:
    lines = [f"# {item.paper}, {item.part}\n"]
    if record is None:
        lines.append(f"{as_sentence(item.claim)} {as_sentence(NOT_RUN)}\n")
    else:
        numbers = f"papers/results/{item.name}/page.md"
        lines.append(record.markdown(f"../../{FIGURES}/{item.name}-", numbers))
    lines.append("[All parts of this paper](index.md).\n")
    return "\n".join(lines)


def _verdict(record: ReproductionRecord | None) -> str:
    if record is None:
        return NOT_RUN
    return f"**{record.verdict}**{OUTDATED if record.is_outdated else ''}"


def _counts(records: Mapping[str, ReproductionRecord]) -> Iterator[str]:
    """A table of how many claims of each paper have which verdict."""
    kinds = (*Verdict, EARLIER, NOT_RUN)
    yield f"| paper | {' | '.join(kinds)} |"
    yield f"|---|{'--:|' * len(kinds)}"
    for paper, items in groupby(in_order(), key=lambda item: item.paper):
        found = [_kind(records.get(item.name)) for item in items]
        cells = [str(found.count(kind) or "-") for kind in kinds]
        yield f"| [{PAPERS[paper]}]({paper}/index.md) | {' | '.join(cells)} |"
    yield ""


def _kind(record: ReproductionRecord | None) -> str:
    if record is None:
        return NOT_RUN
    return EARLIER if record.is_outdated else record.verdict


def _overview(records: Mapping[str, ReproductionRecord]) -> Iterator[str]:
    """A table with a row for each reproduction: claim, verdict, seeds and cost."""
    yield "| part | claim | verdict | seeds | cost |"
    yield "|---|---|---|--:|--:|"
    for item in in_order():
        record = records.get(item.name)
        cost = "-" if record is None else format_seconds(record.seconds)
        seeds = str((record and record.seeds) or "-")
        row = (f"[{item.paper}, {item.part}]({page_path(item)})", item.claim, _verdict(record), seeds, cost)
        yield f"| {' | '.join(map(escape_cell, row))} |"
    yield ""


def _paper_overview(
    items: Sequence[Reproduction[Any]], records: Mapping[str, ReproductionRecord]
) -> Iterator[str]:
    """A table of the reproductions of one paper, with what was seen and what is unlike the paper."""
    yield "| part | claim | verdict | what was seen | seeds | cost | unlike the paper |"
    yield "|---|---|---|---|--:|--:|---|"
    for item in items:
        link = f"[{item.part}]({PurePosixPath(page_path(item)).name})"
        if (record := records.get(item.name)) is None:
            cells = [NOT_RUN, "-", "-", "-"]
        else:
            held = [name for name, part in record.parts.items() if part.held]
            partly = record.verdict is Verdict.PARTLY and not record.is_outdated
            which = f" (held: {'; '.join(held)})" if partly else ""
            seeds, cost = str(record.seeds or "-"), format_seconds(record.seconds)
            cells = [f"{_verdict(record)}{which}", as_sentence(record.sentence), seeds, cost]
        row = (link, item.claim, *cells, item.setup or "-")
        yield f"| {' | '.join(map(escape_cell, row))} |"
    yield ""


def pictures(records: Mapping[str, ReproductionRecord], folder: Path) -> dict[str, Path]:
    """Source of every figure of the pages, by the file name of its copy."""
    return {
        f"{name}-{picture}.png": folder / name / f"{picture}.png"
        for name, record in records.items()
        for picture in record.pictures
    }


def copy_pictures(sources: Mapping[str, Path], folder: Path) -> None:
    """Copy new and changed figures, and remove those that no page shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.png"):
        if path.name not in sources:
            path.unlink()
    for name, source in sources.items():
        target = folder / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"updated {path.relative_to(ROOT)}")


def main() -> None:
    """Update all pages."""
    docs, results = ROOT / "docs", ROOT / "papers" / "results"
    records = read_records(results)
    copy_pictures(pictures(records, results), docs / FIGURES)
    pages = {docs / PAGES / name: text for name, text in papers_pages(records).items()}
    for path in (docs / PAGES).rglob("*.md"):
        if path not in pages:
            path.unlink()
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, text)
    for path in sorted(docs.rglob("*.md")):
        _write(path, updated(path.read_text(encoding="utf-8"), records))


if __name__ == "__main__":
    main()
