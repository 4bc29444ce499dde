"""The results that are kept: records of the benches that they stand beside, and tables made of them."""

import re
from pathlib import Path

import pytest

from dartboard.bench.config import load_bench
from dartboard.bench.jobs import oracle_name, plan_jobs
from dartboard.bench.keeping import find_record
from dartboard.bench.records import read_records
from dartboard.bench.score import make_score
from dartboard.oracle import load_oracle

ROOT = Path(__file__).parents[1]
BENCHES = sorted(path.parent for path in (ROOT / "results").glob("*/bench.yaml"))
BLOCK = re.compile(r"<!-- table ([\w-]+) -->\n\n(.*?)\n<!-- end of table -->", re.DOTALL)


@pytest.mark.parametrize("folder", BENCHES, ids=lambda folder: folder.name)
def test_every_record_is_of_its_bench(folder: Path) -> None:
    config = load_bench(file=folder / "bench.yaml")
    found = [find_record(job, folder, oracle_name(config)) for job in plan_jobs(config)]
    assert len(read_records(folder)) == sum(record is not None for record in found)


def test_the_table_of_nano_is_that_of_its_records() -> None:
    folder = ROOT / "results" / "nano"
    score = make_score(load_bench(file=folder / "bench.yaml"), folder, load_oracle("nano"))
    assert (folder / "table.md").read_text(encoding="utf-8") == score.table.markdown()


def test_pages_show_the_tables_that_are_there() -> None:
    shown = [
        block
        for page in sorted((ROOT / "docs").glob("*.md"))
        for block in BLOCK.findall(page.read_text(encoding="utf-8"))
    ]
    assert shown
    for name, table in shown:
        assert (ROOT / "results" / name / "table.md").read_text(encoding="utf-8") == table
