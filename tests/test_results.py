"""The results that are kept: records of the benches that they stand beside, and tables made of them."""

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from dartboard.scoreboard.bench import oracle_name, plan_jobs
from dartboard.scoreboard.bench_result import score_bench
from dartboard.scoreboard.config import load_bench
from dartboard.scoreboard.records import find_record, read_records
from dartboard.tables import load_table
from dartboard_papers import ReproductionRecord, Verdict, in_order, read_record
from dartboard_papers.base import overall_verdict
from dartboard_papers.runner import choose_scale
from helpers.doc_pages import load_script

ROOT = Path(__file__).parents[1]
BENCHES = sorted(path.parent for path in (ROOT / "results").glob("*/bench.yaml"))
REPRODUCED = sorted(path.parent for path in (ROOT / "papers" / "results").glob("*/record.json"))
PAGES = sorted((ROOT / "docs").rglob("*.md"))
OUTDATED = {
    *("amended-darts-a3", "amended-darts-a4", "amended-darts-figure-2"),
    *("asm-nas-choices", "asm-nas-figure-4", "asm-nas-section-4-4", "asm-nas-table-5"),
    *("gaea-figure-1", "gaea-figure-2", "gaea-figure-4", "gaea-figure-5", "gaea-table-2"),
    "xnas-figure-2",
}
"""Reproductions whose records are by earlier rules; their pages say so until they are run again."""
FEWEST_SEEDS = 5
"""Repetitions behind a verdict, where chance plays a part."""
BLOCK = re.compile(r"<!-- table ([\w-]+) -->\n\n(.*?)\n<!-- end of table -->", re.DOTALL)


@pytest.mark.parametrize("folder", BENCHES, ids=lambda folder: folder.name)
def test_every_record_is_of_its_bench(folder: Path) -> None:
    config = load_bench(file=folder / "bench.yaml")
    found = [find_record(job, folder, oracle_name(config)) for job in plan_jobs(config)]
    assert len(read_records(folder)) == sum(record is not None for record in found)


def test_the_table_of_nano_is_that_of_its_records() -> None:
    folder = ROOT / "results" / "nano"
    score = score_bench(load_bench(file=folder / "bench.yaml"), folder, load_table("nano"))
    assert (folder / "table.md").read_text(encoding="utf-8") == score.table.markdown()


def test_pages_show_the_tables_that_are_there() -> None:
    shown = [block for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert shown
    for name, table in shown:
        assert (ROOT / "results" / name / "table.md").read_text(encoding="utf-8") == table


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that writes the pages."""
    return load_script("update_docs")


@pytest.fixture(scope="module")
def records() -> dict[str, ReproductionRecord]:
    return {folder.name: read_record(folder) for folder in REPRODUCED}


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_reproduction_is_whole(folder: Path) -> None:
    record = read_record(folder)
    assert record.name == folder.name
    assert (folder / "page.md").read_text(encoding="utf-8") == record.markdown()
    assert record.pictures or record.verdict is Verdict.NOT_TESTABLE
    for picture in record.pictures:
        copy = ROOT / "docs" / "figures" / "papers" / f"{record.name}-{picture}.png"
        assert copy.read_bytes() == (folder / f"{picture}.png").read_bytes()


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_reproduction_can_be_done_again_as_it_was(folder: Path) -> None:
    record = read_record(folder)
    words = [f"{key}={json.dumps(value)}" for key, value in record.scale.items()]
    assert choose_scale(record.reproduction, words).model_dump(mode="json") == record.scale


def test_the_pages_of_the_papers_are_those_of_their_records(
    script: ModuleType, records: dict[str, ReproductionRecord]
) -> None:
    folder = ROOT / "docs" / "papers"
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}
    pages = {path.relative_to(folder).as_posix(): text for path, text in texts.items()}
    assert pages == script.papers_pages(records)
    figures = {path.name for path in (ROOT / "docs" / "figures" / "papers").iterdir()}
    assert figures == set(script.pictures(records, ROOT / "papers" / "results"))


def test_the_pages_show_what_was_run_and_what_was_not(
    script: ModuleType, records: dict[str, ReproductionRecord]
) -> None:
    pages = script.papers_pages({"amended-darts-a1": records["amended-darts-a1"]})
    lines = pages["index.md"].splitlines()
    [held] = [line for line in lines if line.startswith("| [amended-darts, a1](amended-darts/a1.md) |")]
    assert "| **held** |" in held
    assert len([line for line in lines if "| not run yet | - | - |" in line]) == len(in_order()) - 1
    [counts] = [line for line in lines if line.endswith("(amended-darts/index.md) | 1 | - | - | - | - | 4 |")]
    assert counts.startswith("| [Stabilizing DARTS")
    rows = [line for line in pages["amended-darts/index.md"].splitlines() if line.startswith("| [")]
    assert [row.split(" | ")[2] for row in rows] == ["**held**", *["not run yet"] * 4]
    assert "Not run yet." in pages["amended-darts/a3.md"]
    page = pages["amended-darts/a1.md"].splitlines()
    assert page[0] == "# amended-darts, a1"
    shown = [line for line in page if line.startswith("![")]
    assert [line.endswith("(../../figures/papers/amended-darts-a1-terms.png)") for line in shown] == [True]
    assert "All numbers beside the paper's: `papers/results/amended-darts-a1/page.md`." in page


def test_verdicts_by_earlier_rules_are_counted_apart(
    script: ModuleType, records: dict[str, ReproductionRecord]
) -> None:
    counts = [
        line for line in script.papers_pages(records)["index.md"].splitlines() if "/index.md) |" in line
    ]
    earlier = [line.split(" | ")[5] for line in counts]
    assert sum(int(cell) for cell in earlier if cell != "-") == len(OUTDATED)


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_verdict_follows_from_rules(folder: Path) -> None:
    """Parts are those of the rules; where chance plays a part it is known, and there are five seeds."""
    record = read_record(folder)
    assert record.is_outdated == (record.name in OUTDATED)
    if record.is_outdated:
        return
    parts, rules = record.parts, record.reproduction.rules
    assert record.verdict == overall_verdict(parts)
    if not parts:
        assert record.verdict is Verdict.NOT_TESTABLE
        return
    assert set(parts) == set(rules)
    chances = [part.chance for part in parts.values()]
    if record.seeds:
        assert record.seeds >= FEWEST_SEEDS
        assert any(chance is not None for chance in chances)
    assert all(chance is None or 0 <= chance <= 1 for chance in chances)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "docs").as_posix())
def test_pages_are_as_the_script_writes_them(
    page: Path, script: ModuleType, records: dict[str, ReproductionRecord]
) -> None:
    text = page.read_text(encoding="utf-8")
    assert script.updated(text, records) == text


def test_what_was_measured_is_shown_beside_random_search_and_the_paper(script: ModuleType) -> None:
    first, second = script.measured("gdas xnas").split("\n\n")
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in first.splitlines()[2:]]
    assert [row[:2] for row in rows] == [
        [f"`{bench}`", f"`{label}`"] for bench in ("nano", "nb201") for label in ("gdas", "xnas")
    ]
    assert all(row[5] == script._rows(row[0].strip("`"))["random"][_test_of(row[0])] for row in rows)
    beside = second.strip().splitlines()[2:]
    assert [line.split("|")[1].strip() for line in beside] == ["cifar10", "cifar100", "imagenet16-120"]
    assert beside[0].endswith("| 93.61 +- 0.09 | 93.52 +- 0.15 |")


def _test_of(bench: str) -> str:
    return {"`nano`": "test cluttered-digits", "`nb201`": "test cifar10"}[bench]


def test_a_search_that_no_paper_has_numbers_of_stands_alone(script: ModuleType) -> None:
    assert "paper" not in script.measured("xnas")
    assert "| - | 93.55 +- 0.13 |" in script.measured("gaea-gdas")


def test_what_was_reproduced_is_linked(script: ModuleType, records: dict[str, ReproductionRecord]) -> None:
    *_, line = script.reproduced("xnas-figure-5", records).strip().splitlines()
    assert line.startswith("| [figure 5](../papers/xnas/figure-5.md) | GD makes no progress, while")
    assert "| **partly** |" in line


def test_a_page_gets_what_is_there_now(script: ModuleType, records: dict[str, ReproductionRecord]) -> None:
    page = "a\n<!-- measured xnas -->\nold\n<!-- end of measured -->\nb\n"
    table = script.measured("xnas")
    expected = f"a\n<!-- measured xnas -->\n\n{table}\n<!-- end of measured -->\nb\n"
    assert script.updated(page, records) == expected


def test_pictures_are_copied_and_others_removed(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "source.png").write_bytes(b"new")
    (tmp_path / "figures").mkdir()
    for name in ("a-one.png", "gone-two.png"):
        (tmp_path / "figures" / name).write_bytes(b"old")
    script.copy_pictures({"a-one.png": tmp_path / "source.png"}, tmp_path / "figures")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["a-one.png"]
    assert (tmp_path / "figures" / "a-one.png").read_bytes() == b"new"
