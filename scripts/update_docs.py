"""Puts what is in results/ into the pages that show it.

    dartboard bench --config results/nano/bench.yaml --results results/nano --out results/nano --show
    dartboard reproduce xnas-figure-3 --out papers/results
    python scripts/update_docs.py

A page shows the table of a bench between the lines `<!-- table NAME -->` and `<!-- end of table -->`. Pages
of methods have in the same way `<!-- measured LABEL... -->`, what searches came to on all benches, and
`<!-- reproduced NAME... -->`, what came of parts of a paper. The page docs/papers.md is made of the records
of reproductions alone, with copies of their pictures.
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
"""The folders in results/ whose tables pages of methods show."""
Rows = dict[str, dict[str, str]]
"""Of a table, by the words in the first column."""
PAGE = "papers.md"
FIGURES = "figures/papers"
"""The pictures, as seen from the pages."""
NOT_RUN = "not run yet"

HEAD = """\
# The papers on a laptop

Figures and tables of the papers behind dartboard, redone: what each reports, what was measured here, and
whether its claim held. This page is made from the records in `papers/results` by `scripts/update_docs.py`.

```sh
dartboard reproduce --list
dartboard reproduce xnas-figure-3
```

Each says before it starts how long it takes, and finishes in minutes on two cores; `--full` takes the
paper's own numbers, where it gives them, for a GPU. How a claim is tested was fixed before its first run
here; where the test or the procedure came later or was changed, the section says so. Those of GAEA's table
2 and figures 4 and 5 were written when the searches that they look at, which are in `results/nb201`, were
known. No seed is left out: where a section has means alone, what each came to is in
`papers/results/NAME/numbers.json`. *Held* means that the paper's claim was seen at this size, *did not
hold* that it was not, *not testable here* that what ran here can show neither. Times are those of a machine
that did much else, and up to ten times what a quiet one takes; `dartboard reproduce --list` has the latter.
"""


def updated(page: str, records: Mapping[str, ReproductionRecord]) -> str:
    """The text of a page with the tables that are there now."""
    makers = {"table": _table, "measured": measured, "reproduced": lambda names: reproduced(names, records)}
    return BLOCK.sub(lambda found: f"{found[1]}\n{makers[found[2]](found[3])}\n{found[4]}", page)


def _table(name: str) -> str:
    return (ROOT / "results" / name / "table.md").read_text(encoding="utf-8")


def _rows(name: str) -> Rows:
    """The table of a bench."""
    head, _, *lines = [
        [own.strip() for own in line.strip("|").split("|")]
        for line in _table(name).splitlines()
        if line.startswith("|")
    ]
    return {line[0]: dict(zip(head, line, strict=True)) for line in lines}


def measured(labels: str) -> str:
    """What searches came to on every bench that has them, and beside the paper's numbers where it gives some.

    Args:
        labels: Of rows of the benches' tables, with spaces between them.
    """
    tables = {name: _rows(name) for name in BENCHES}
    lines = [
        "| benchmark | search | seeds | test accuracy, % | regret | random search | to random search |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, rows in tables.items():
        for label in (own for own in labels.split() if own in rows):
            row, first = rows[label], next(column for column in rows[label] if column.startswith("test "))
            beside = rows["random"][first]
            found = (row["seeds"], row[first], row["regret"], beside, row["to random"])
            lines.append(f"| `{name}` | `{label}` | {' | '.join(found)} |")
    return "\n".join([*lines, *_beside_paper(tables["nb201"], labels.split()), ""])


def _beside_paper(rows: Rows, labels: Sequence[str]) -> Iterator[str]:
    """The numbers of GAEA's table 2 beside those of here, if it has any of these searches."""
    known = [own for own in labels if own in rows and _has_numbers(rows[own])]
    if not known:
        return
    yield "\n| NAS-Bench-201 | search | here | paper, transferred | paper, direct |"
    yield "|---|---|--:|--:|--:|"
    for label in known:
        row = rows[label]
        names = [column.removeprefix("test ") for column in row if column.startswith("test ")]
        there = [_parts(row[f"paper, {how}"], len(names)) for how in ("transfer", "direct")]
        for name, moved, direct in zip(names, *there, strict=True):
            yield f"| {name} | `{label}` | {row[f'test {name}']} | {moved} | {direct} |"


def _has_numbers(row: Mapping[str, str]) -> bool:
    return any(row[f"paper, {how}"] != "-" for how in ("transfer", "direct"))


def _parts(words: str, count: int) -> list[str]:
    return words.split(" / ") if words != "-" else ["-"] * count


def reproduced(names: str, records: Mapping[str, ReproductionRecord]) -> str:
    """Parts of papers that were redone: what they are about, the verdict and what was seen.

    Args:
        names: Of reproductions, with spaces between them.
        records: What came of them.
    """
    lines = ["| part | claim of the paper | here | what was seen |", "|---|---|---|---|"]
    for name in names.split():
        record = records[name]
        reproduction = record.reproduction
        words = (
            escape_cell(as_sentence(reproduction.claim)),
            f"**{record.verdict}**",
            escape_cell(as_sentence(record.sentence)),
        )
        lines.append(f"| [{reproduction.part}](../papers.md#{name}) | {' | '.join(words)} |")
    return "\n".join([*lines, ""])


def read_records(folder: Path) -> dict[str, ReproductionRecord]:
    """By name, the records of all reproductions that were run."""
    found = [read_record(path.parent) for path in sorted(folder.glob(f"*/{RECORD}"))]
    return {record.name: record for record in found}


def papers_page(records: Mapping[str, ReproductionRecord]) -> str:
    """The page of all reproductions: a table, and a section for each that was run."""
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
    """By the name of the copy, every picture that the page shows."""
    return {
        f"{name}-{picture}.png": folder / name / f"{picture}.png"
        for name, record in records.items()
        for picture in record.pictures
    }


def copy_pictures(wanted: Mapping[str, Path], folder: Path) -> None:
    """Copies pictures that are new or other ones, and removes those that no page shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.png"):
        if path.name not in wanted:
            path.unlink()
    for name, source in wanted.items():
        target = folder / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        print(f"updated {path.relative_to(ROOT)}")


def main() -> None:
    """Write all pages anew."""
    docs, results = ROOT / "docs", ROOT / "papers" / "results"
    records = read_records(results)
    copy_pictures(pictures(records, results), docs / FIGURES)
    _write(docs / PAGE, papers_page(records))
    for path in sorted(docs.rglob("*.md")):
        _write(path, updated(path.read_text(encoding="utf-8"), records))


if __name__ == "__main__":
    main()
