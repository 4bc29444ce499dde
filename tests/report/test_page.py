import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from dartboard.report import write_report
from dartboard.report.page import make_environment, script_json
from dartboard.runs import Run
from dartboard.space import get_space
from helpers.report_runs import NASTY, Reader, found_cell, make_search, make_training


def page_of(out: Path, *runs: Run, **more: Any) -> str:
    return write_report([own.path for own in runs], out, **more).read_text(encoding="utf-8")


def embedded(page: str, name: str) -> Any:
    """The data of that name in a page."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def headings(page: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]


def bare(page: str) -> str:
    """The text of a page, without scripts and styles."""
    marked = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", marked))


def test_a_page_of_a_search(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", "nano", warning="all is lost")
    page, words = (made := page_of(tmp_path / "r.html", run)), bare(made)
    assert "nano with gaea-darts on digits" in words
    assert "Seed 0, 4 epochs" in words
    assert "of 216" in words  # the rank
    assert "Since epoch 2:  all is lost" in words
    assert "from 70.0 % to 50.0 %: a gap of 20.0 points" in words
    assert headings(page) == [
        "How the cell formed", "Health", "Curves", "Strengths of ops, edge by edge", "Go on from here",
        "Settings",
    ]  # fmt: skip
    assert [own["x"] for own in embedded(page, "chart-accuracy-data")["lines"]] == [[1, 2, 3, 4]] * 3
    told = [row["entropy"] for row in run.metrics()]
    np.testing.assert_allclose(embedded(page, "chart-entropy-data")["lines"][0]["y"], told, rtol=1e-4)
    assert f"dartboard train {run.path} --recipe quick --out {run.path}-trained" in words
    assert "Resume" not in words
    assert "momentum: 0.9" in words


def test_a_search_that_was_stopped_can_be_resumed(tmp_path: Path) -> None:
    words = bare(page_of(tmp_path / "r.html", make_search(tmp_path / "s s", finish=False)))
    assert f"dartboard search --resume '{tmp_path / 's s'}'" in words


def test_before_the_first_epoch(tmp_path: Path) -> None:
    page = page_of(tmp_path / "r.html", make_search(tmp_path / "s", epochs=0, finish=False))
    assert "No epoch is over yet" in page
    assert headings(page) == ["Go on from here", "Settings"]
    words = bare(page)
    assert f"dartboard search --resume {tmp_path / 's'}" in words
    assert "dartboard train" not in words
    assert "dartboard export" not in words


def test_three_searches_are_three_lines(tmp_path: Path) -> None:
    runs = [make_search(tmp_path / name, method=name) for name in ("darts", "gdas", "xnas")]
    page = page_of(tmp_path / "r.html", *runs)
    lines = embedded(page, "chart-supernet-accuracy-data")["lines"]
    assert [own["name"] for own in lines] == ["darts", "gdas", "xnas"]
    assert len({own["colour"] for own in lines}) == 3
    assert not any(own["spread"] for own in lines)
    assert {"Scoreboard", "Cells side by side"} <= set(headings(page))
    assert [own["name"] for own in embedded(page, "stills")] == [
        f"{name}, seed 0" for name in ("darts", "gdas", "xnas")
    ]


def test_seeds_are_a_band(tmp_path: Path) -> None:
    runs = [make_search(tmp_path / f"s{seed}", seed=seed) for seed in range(3)]
    page = page_of(tmp_path / "r.html", *runs)
    (line,) = embedded(page, "chart-supernet-accuracy-data")["lines"]
    curves = np.array([[row["valid_accuracy"] for row in own.metrics()] for own in runs])
    np.testing.assert_allclose(line["y"], curves.mean(0), rtol=1e-4)
    np.testing.assert_allclose(line["spread"], curves.std(0, ddof=1), rtol=1e-4)
    assert "69.0 % ± 1.0" in bare(page)
    assert "seed 2" in bare(page)


def test_a_page_of_a_training(tmp_path: Path) -> None:
    run = make_training(tmp_path / "t", found_cell(make_search(tmp_path / "s")), classes=("ape", "bee"))
    words = bare(made := page_of(tmp_path / "r.html", run))
    assert "85.00 %" in words
    assert "12,345" in words
    assert "ape" in words
    assert f"dartboard export {run.path} --format onnx" in words
    assert headings(made) == ["The cell", "Training", "Go on from here", "Settings"]
    assert len(embedded(made, "chart-accuracy-of-the-network-data")["lines"]) == 2


def test_trainings_of_a_search_are_shown_with_it(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s")
    for seed in range(2):
        make_training(tmp_path / f"train-s-digits-s{seed}", found_cell(run), seed=seed)
    page = page_of(tmp_path / "r.html", run)
    lines = embedded(page, "chart-accuracy-of-the-networks-data")["lines"]
    assert [own["name"] for own in lines] == ["train-s-digits-s0", "train-s-digits-s1"]
    assert "2 trainings" in bare(page)


@pytest.mark.usefixtures("without_checksums")
def test_experts_alive_where_some_are_removed(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", method="xnas")
    assert "chart-experts-alive" not in page_of(tmp_path / "r.html", run)
    rows = run.metrics()
    rows[-1]["cells"]["cell"]["alive"] = 3
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (line,) = embedded(page_of(tmp_path / "r.html", run), "chart-experts-alive-data")["lines"]
    assert line["y"] == [18, 18, 18, 3]


def test_attention_maps_for_attention_alone(tmp_path: Path) -> None:
    assert "Attention maps" in headings(
        page_of(tmp_path / "r.html", make_search(tmp_path / "a", method="asm"))
    )
    assert "Attention maps" not in headings(page_of(tmp_path / "r.html", make_search(tmp_path / "d")))


def test_a_protocol(tmp_path: Path) -> None:
    arm = {
        "networks": [1, 2], "finals": [1, 2, 3], "summary": {"mean": 0.9, "deviation": None, "count": 3},
        "parameters": 99, "seconds": {"total": 60},
    }  # fmt: skip
    config = {"kind": "protocol", "search": {"method": {"name": "gdas"}, "space": {"name": "nano"}}}
    with Run.create(tmp_path / "p", config, space=get_space("nano")) as run:
        found = found_cell(make_search(run.path / "search" / "s0"))
        make_training(run.path / "final" / "found-s0", found)
        run.finish(
            {"verdict": "Search beat random.", "measured_on": "test", "arms": {"found": arm, "random": arm}}
        )
    page = page_of(tmp_path / "r.html", run)
    assert "Search beat random." in bare(page)
    assert {"Found against random", "How the cell formed", "Trained from scratch"} <= set(headings(page))
    assert f"dartboard export {run.path / 'final' / 'found-s0'} --format onnx" in bare(page)
    assert re.search(r"random\s+2\s+3\s+90.00 %\s+\u2013\s+99\s+1 min", bare(page))


@pytest.mark.parametrize("kind", ["search", "training", "several"])
def test_nothing_from_files_becomes_markup(tmp_path: Path, kind: str) -> None:
    search = make_search(
        tmp_path / "<b>s", warning=NASTY, data={"name": f"/nowhere/{NASTY.replace('/', '|')}"}
    )
    training = make_training(tmp_path / "train-<b>s-<i>", found_cell(search), classes=(NASTY, "b"))
    given = {
        "search": [search],
        "training": [training],
        "several": [search, training, make_search(tmp_path / "x")],
    }
    page = page_of(tmp_path / "r.html", *given[kind])
    read = Reader(page)
    expected = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "p",
        "h1",
        "h2",
        "h3",
        "span",
    }
    expected |= {
        "dl",
        "div",
        "dt",
        "dd",
        "nav",
        "a",
        "section",
        "button",
        "label",
        "select",
        "option",
        "input",
    }
    expected |= {
        "output",
        "ul",
        "li",
        "figure",
        "figcaption",
        "script",
        "details",
        "summary",
        "pre",
        "code",
        "br",
    }
    expected |= {"footer", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td", "article"}
    assert {name for name, _ in read.tags} <= expected
    scripts = [own for name, own in read.tags if name == "script"]
    waiting = {"type": "text/plain", "id": "plotly"}
    assert [own for own in scripts if own.get("type") != "application/json"] == [waiting, {}]
    assert not any(key.startswith("on") for _, own in read.tags for key in own)


@given(st.text())
def test_texts_and_attributes_come_back_as_they_are(text: str) -> None:
    text = re.sub(r"[\r\x00]", "", text)  # HTML has no way to write these
    template = make_environment().from_string('<p title="{{ text }}">{{ text }}</p>')
    read = Reader(template.render(text=text))
    assert [name for name, _ in read.tags] == ["p"]
    assert read.tags[0][1]["title"] == text
    assert "".join(read.words) == text


@pytest.mark.parametrize("text", [NASTY, "</script>", "<!--", "]]>", "\u2028\u2029", "&lt;"])
def test_data_cannot_leave_its_element(text: str) -> None:
    made = script_json({text: [text, 1.5, None]})
    assert not set("<>&\u2028\u2029") & set(made)
    assert json.loads(made) == {text: [text, 1.5, None]}
    macros: Any = make_environment().get_template("macros.html").module
    element = macros.embedded("x", {text: text}).strip()
    inner = element.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert json.loads(inner) == {text: text}


def test_html_is_not_escaped_twice() -> None:
    macros: Any = make_environment().get_template("macros.html").module
    assert "<code>a &lt; b</code>" in macros.genotype("a < b")


def test_a_name_that_a_template_misspells_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        make_environment().from_string("{{ nothing }}").render()


def test_the_page_may_run_its_own_scripts_alone(tmp_path: Path) -> None:
    page = page_of(tmp_path / "r.html", make_search(tmp_path / "s"))
    metas = [own for name, own in Reader(page).tags if name == "meta"]
    policy = next(str(own["content"]) for own in metas if own.get("http-equiv"))
    scripts = re.findall(r"<script(?: type=\"text/plain\" id=\"plotly\")?>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_warnings_that_several_searches_share_are_said_once(tmp_path: Path) -> None:
    runs = [make_search(tmp_path / f"s{seed}", seed=seed, warning="all is lost") for seed in range(2)]
    words = bare(page_of(tmp_path / "r.html", *runs))
    assert words.count("all is lost") == 1
    assert "gaea-darts, seeds 0, 1: since epoch 2:" in words


def test_commands_bring_the_plugins_of_a_run(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", finish=False, plugins=["/a b.py"])
    words = bare(page_of(tmp_path / "r.html", run))
    assert f"dartboard search --resume {run.path} --plugin '/a b.py'" in words
    assert f"dartboard train {run.path} --recipe quick --out {run.path}-trained --plugin '/a b.py'" in words


def test_settings_that_differ_are_set_beside_each_other(tmp_path: Path) -> None:
    runs = [make_search(tmp_path / str(rate), weights={"lr": rate}) for rate in (0.1, 0.2)]
    words = bare(page_of(tmp_path / "r.html", *runs))
    assert re.search(r"weights\.lr\s+0\.1\s+0\.2", words)
    assert not re.search(r"weights\.momentum\s+0\.9\s+0\.9", words)
    assert "gaea-darts, weights.lr=0.1" in words


@pytest.mark.usefixtures("without_checksums")
def test_a_training_of_a_cell_that_several_found_counts_once(tmp_path: Path) -> None:
    runs = [make_search(tmp_path / f"s{seed}", seed=seed) for seed in range(2)]
    result = json.dumps(runs[0].result())
    (runs[1].path / "result.json").write_text(result)
    training = make_training(tmp_path / "t", found_cell(runs[0]))
    words = bare(page_of(tmp_path / "r.html", *runs, training))
    assert "85.00 %" in words
    assert "85.00 % ±" not in words


@pytest.mark.usefixtures("without_checksums")
def test_a_sweep_of_stages_compares_its_last_alone(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    runs = [make_search(folder / "search" / f"s{seed}", seed=seed) for seed in range(3)]
    first = json.dumps(runs[0].result())
    rows = []
    for own in runs:
        (own.path / "result.json").write_text(first)  # all found the same cell
    for stage, seeds in (("screen", (30, 40)), ("final", (1, 3, 5))):
        for seed in seeds:
            training = make_training(folder / stage / f"found-0-s{seed}", found_cell(runs[0]), seed=seed)
            rows.append({"name": f"{stage}/{training.path.name}", "stage": stage})
    rows += [{"name": f"search/{own.path.name}", "stage": "search"} for own in runs]
    ends = [{"state": "finished", "reason": ""} for _ in rows]
    ends[1] = {"state": "dropped", "reason": "clearly worse than the best"}
    ends[-1] = {"state": "dropped", "reason": "not among the first 2"}
    (runs[2].path / "result.json").write_text(
        first.replace('"valid_accuracy": 0.7', '"valid_accuracy": 0.01')
    )
    (folder / "sweep.yaml").write_text("stages: {search: {}, screen: {stop: {after: 1}}, final: {}}")
    lines = [json.dumps({**row, **end}) for row, end in zip(rows, ends, strict=True)]
    (folder / "results.jsonl").write_text("\n".join(lines))
    words = bare(Path(write_report([folder], tmp_path / "r.html")).read_text())
    assert re.search(r"82\.00 % \u00b1 2\.00\s+80\.00 to 84\.00 %", words)
    assert re.search(r"70\.0 % \u00b1 0\.0\s+70\.0 to 70\.0 %", words)  # without the one that was dropped
    assert re.search(r"found-0-s40\s+dropped\s+clearly worse than the best", words)
    assert re.search(r"seed 2\s+dropped\s+not among the first 2", words)
