"""Puts the tables of results/ into the pages that show them.

    dartboard bench --config results/nano/bench.yaml --results results/nano --out results/nano --show
    python scripts/update_docs.py

A page shows a table between the lines `<!-- table NAME -->` and `<!-- end of table -->`.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def updated(page: str) -> str:
    """The text of a page with the tables that are there now."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{_table(found[2])}\n{found[3]}", page)


def _table(name: str) -> str:
    return (ROOT / "results" / name / "table.md").read_text(encoding="utf-8")


def main() -> None:
    """Write all pages anew."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        before = path.read_text(encoding="utf-8")
        if (after := updated(before)) != before:
            path.write_text(after, encoding="utf-8")
            print(f"updated {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
