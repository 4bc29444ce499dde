"""Update the pages of the documentation that show results.

    dartboard bench --config results/nano/bench.yaml --results results/nano --out results/nano --show
    dartboard reproduce xnas-figure-3 --out papers/results
    python scripts/update_docs.py

Pages contain generated blocks between two comments: `<!-- table NAME -->` ... `<!-- end of table -->` is
the table of a scoreboard, `<!-- measured LABEL... -->` the results of searches on all scoreboards, and
`<!-- reproduced NAME... -->` the verdicts of reproductions. The page docs/papers.md is generated
completely from the records of reproductions, with copies of their figures.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from dartboard_papers import PAPERS, ReproductionRecord, in_order, read_record
from dartboard_papers.formatting import as_sentence, escape_cell
from dartboard_papers.record import RECORD

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- (table|measured|reproduced) ([\w -]+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
BENCHES = ("nano", "nb201", "oneshot1", "oneshot2", "oneshot3")
"""Scoreboards in results/ that the pages of methods show."""
Rows = dict[str, dict[str, str]]
"""Rows of a table by their first cell, each a cell by column."""
PAGE = "papers.md"
FIGURES = "figures/papers"
"""Folder of the figures, relative to the pages."""
NOT_RUN = "not run yet"

HEAD = """\
# The papers on a laptop

Figures and tables of the papers behind dartboard, recomputed at small scale: what each reports, what was
measured here, and whether its claim held. This page is generated from the records in `papers/results` by
`scripts/update_docs.py`.

```sh
dartboard reproduce --list
dartboard reproduce xnas-figure-3
```

Each reproduction prints a time estimate first and finishes in minutes on two cores; `--full` uses the
paper's own settings, where it states them, and is meant for a GPU. The test of a claim was fixed before its
first run here; where the test or the procedure was added or changed later, the section says so. The tests
for GAEA's table 2 and figures 4 and 5 were written when the results of the searches they use, which are in
`results/nb201`, were already known. No seed is left out: where a section reports only means, the individual
values are in `papers/results/NAME/numbers.json`. *Held* means that the paper's claim was observed at this
scale, *did not hold* that it was not, *not testable here* that this experiment cannot decide it. Times were
measured on a machine with other load, and are up to ten times those on an idle one, which `dartboard
reproduce --list` prints.
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
            f"**{record.verdict}**",
            escape_cell(as_sentence(record.sentence)),
        )
        lines.append(f"| [{reproduction.part}](../papers.md#{name}) | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def read_records(folder: Path) -> dict[str, ReproductionRecord]:
    """Records of all reproductions that were run, by name."""
    records = [read_record(path.parent) for path in sorted(folder.glob(f"*/{RECORD}"))]
    return {record.name: record for record in records}


def papers_page(records: Mapping[str, ReproductionRecord]) -> str:
    """The page of all reproductions: an overview table, and a section for each that was run."""
    return "\n".join([HEAD, *_overview(records), *_sections(records)])


def _overview(records: Mapping[str, ReproductionRecord]) -> Iterator[str]:
    yield "| paper | part | what | verdict | command |"
    yield "|---|---|---|---|---|"
    for item in in_order():
        record = records.get(item.name)
        part = item.part if record is None else f"[{item.part}](#{item.name})"
        verdict = NOT_RUN if record is None else f"**{record.verdict}**"
        command = f"dartboard reproduce {item.name}" if record is None else record.command()
        yield f"| {item.paper} | {part} | {escape_cell(item.about)} | {verdict} | `{escape_cell(command)}` |"
    yield ""


def _sections(records: Mapping[str, ReproductionRecord]) -> Iterator[str]:
    done = [item for item in in_order() if item.name in records]
    for paper, group in groupby(done, key=lambda item: item.paper):
        yield f"## {PAPERS[paper]}\n"
        for item in group:
            yield f"### {item.name}\n"
            yield records[item.name].markdown(f"{FIGURES}/{item.name}-")


def pictures(records: Mapping[str, ReproductionRecord], folder: Path) -> dict[str, Path]:
    """Source of every figure of the page, by the file name of its copy."""
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
    _write(docs / PAGE, papers_page(records))
    for path in sorted(docs.rglob("*.md")):
        _write(path, updated(path.read_text(encoding="utf-8"), records))


if __name__ == "__main__":
    main()
