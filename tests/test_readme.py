"""What the README names is there; what it shows is tried with the other pages (tests/docs)."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def text() -> str:
    return README.read_text(encoding="utf-8")


def test_targets_exist() -> None:
    makefile = (README.parent / "Makefile").read_text()
    named = set(re.findall(r"make (\w+)", text()))
    assert {"demo", "test", "check", "slow", "bench"} <= named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!http)([^)]+)\)", text())
    assert links
    assert [link for link in links if not (README.parent / link.partition("#")[0]).exists()] == []


def test_it_opens_with_a_report_and_a_cell() -> None:
    opening = text().split("\n## ")[0]
    assert re.findall(r"!\[[^]]+\]\(docs/figures/readme/(\w+)\.png\)", opening) == ["report", "cell"]
