"""Reports in a real browser: Debian's chromium, driven by playwright, with pages opened from the disk."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dartboard.report import write_report
from helpers.report_runs import NASTY, found_cell, make_search, make_training, nearly_equal

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
PATIENCE = 120_000
"""Milliseconds; machines that test are busy."""
PHONE = {"width": 390, "height": 844}

pytestmark = pytest.mark.skipif(
    not CHROMIUM.is_file(), reason=f"there is no {CHROMIUM}; apt-get install chromium"
)
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports by name, written once."""
    folder = tmp_path_factory.mktemp("runs")
    cell = make_search(folder / "darts", "darts", epochs=6, finish=False)
    nasty = make_search(folder / "nasty<img src=x onerror=hacked=1>", method="asm", warning=NASTY)
    make_training(folder / f"train-{nasty.path.name}-x", found_cell(nasty), classes=(NASTY, "b"))
    methods = enumerate(("gdas", "gaea-darts", "xnas"))
    three = [make_search(folder / name, method=name, seed=seed) for seed, name in methods]
    close = make_search(folder / "close", method="asm")
    nearly_equal(close)
    made = {"cell": [cell], "nasty": [nasty], "three": three, "close": [close]}
    return {
        name: write_report([own.path for own in runs], folder / f"{name}.html") for name, runs in made.items()
    }


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[Open]:
    """Opens a report; when the test is over, nothing may have gone wrong in the page, or left it."""
    wrong: list[str] = []
    contexts = []

    def note(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            wrong.append(f"request of {request.url}")

    def open_(page: str | Path, **more: Any) -> Any:
        context = browser.new_context(**more)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        tab = context.new_page()
        tab.on(
            "console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None
        )
        tab.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        tab.on("request", note)
        tab.goto((pages[page] if isinstance(page, str) else page).as_uri())
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


WIRES = """
[...document.querySelectorAll("#cells .wire")].map(
  (own) => [own.getAttribute("d"), own.getAttribute("class"), own.style.strokeWidth]).sort()
"""
LABELS = """
[...document.querySelectorAll("#cells .label")].filter((own) => own.style.display !== "none")
  .map((own) => own.textContent)
"""


def drawn(tab: Any) -> list[Any]:
    """What is seen of the cells: lines with their colors and widths, and the labels that are shown."""
    return [tab.evaluate(WIRES), tab.evaluate(LABELS)]


def test_the_slider_moves_the_cell_by_mouse_and_keyboard(opened: Open) -> None:
    tab = opened("cell")
    slider, words = tab.locator("#epoch"), tab.locator("#epoch-words")
    assert words.inner_text() == "epoch 6"
    last = drawn(tab)
    slider.fill("0")
    assert words.inner_text() == "epoch 1"
    first = drawn(tab)
    assert first != last
    slider.focus()
    tab.keyboard.press("ArrowRight")
    assert words.inner_text() == slider.get_attribute("aria-valuetext") == "epoch 2"
    assert drawn(tab) not in (first, last)
    tab.keyboard.press("End")
    assert drawn(tab) == last
    thick = "[...document.querySelectorAll('.wire')].map((own) => Number(own.style.strokeWidth))"
    at_end = max(tab.evaluate(thick))
    tab.keyboard.press("Home")
    assert max(tab.evaluate(thick)) < at_end


def test_strengths_that_are_close_are_told_apart(opened: Open) -> None:
    tab = opened("close")
    least, most = (float(tab.locator(f"#map-{end}").inner_text()) for end in ("least", "most"))
    assert 0.1 < least < most < 0.2
    assert re.fullmatch(
        r"They differ by 0\.00\d\d at most: the colors go from the smallest to the largest\.",
        tab.locator("#map-note").inner_text(),
    )
    assert tab.locator("#heat-note").is_visible()
    tab = opened("cell")
    assert tab.locator("#heat-least").inner_text() == "0"
    assert tab.locator("#heat-note").is_hidden()


def test_the_cell_is_played(opened: Open) -> None:
    tab = opened("cell")
    tab.locator("#play").click()
    assert tab.locator("#play").get_attribute("aria-pressed") == "true"
    sync_api.expect(tab.locator("#play")).to_have_text("Play", timeout=PATIENCE)
    assert tab.locator("#epoch-words").inner_text() == "epoch 6"


def test_everything_is_reached_with_tab(opened: Open) -> None:
    tab = opened("cell")
    wanted = "main a, main button, main select, main input, main summary, main [tabindex='0']"
    count = tab.evaluate(
        f"[...document.querySelectorAll(`{wanted}`)].filter((own) => own.checkVisibility()).length"
    )
    seen = set()
    for _ in range(count):
        tab.keyboard.press("Tab")
        seen.add(tab.evaluate("document.activeElement.id || document.activeElement.outerHTML"))
    assert {"play", "epoch"} <= seen
    assert any("copy" in own for own in seen)
    assert any("summary" in own for own in seen)


def test_a_comparison_of_three_runs_shows_three_lines(opened: Open) -> None:
    tab = opened("three")
    chart = tab.locator("#chart-supernet-accuracy")
    chart.scroll_into_view_if_needed()
    chart.locator(".scatterlayer .trace path.js-line").nth(2).wait_for(state="attached")
    assert chart.locator(".scatterlayer .trace path.js-line").count() == 3
    assert chart.locator(".legendtext").all_text_contents() == ["gdas", "gaea-darts", "xnas"]
    colors = "(own) => [...own.querySelectorAll('path.js-line')].map((line) => getComputedStyle(line).stroke)"
    assert len(set(chart.evaluate(colors))) == 3
    before = drawn(tab)
    tab.locator("#pick-run").select_option("2")
    assert drawn(tab) != before
    assert tab.locator("#genotypes article svg").count() == 3


@pytest.mark.parametrize("name", ["cell", "three", "nasty"])
def test_a_phone_does_not_scroll_sideways(opened: Open, name: str) -> None:
    tab = opened(name, viewport=PHONE)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")  # draws all charts
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    texts = "[...document.querySelectorAll('p, td, li, dd, code')]"
    sizes = tab.evaluate(f"{texts}.map((own) => parseFloat(getComputedStyle(own).fontSize))")
    assert min(sizes) >= 12


def test_light_and_dark(opened: Open) -> None:
    tab = opened("cell", color_scheme="light")
    chart = tab.locator("#chart-entropy")
    chart.scroll_into_view_if_needed()
    chart.locator("path.js-line").first.wait_for(state="attached")
    light = _contrast(tab)
    tab.emulate_media(color_scheme="dark")
    dark = _contrast(tab)
    assert light[0] > 0.9 > 0.1 > dark[0]  # the page itself
    assert min(light[1], dark[1]) > 4.5  # letters against it
    letters = tab.locator("#chart-entropy .legendtext").first
    sync_api.expect(letters).to_have_css("fill", "rgb(232, 235, 237)", timeout=PATIENCE)


def _contrast(tab: Any) -> tuple[float, float]:
    """How bright the page is, and the contrast of its palest text (WCAG)."""
    value = "getComputedStyle(document.documentElement).getPropertyValue(own).trim()"
    colors = tab.evaluate(f"['--page', '--soft'].map((own) => {value})")
    page, soft = map(_brightness, colors)
    return page, (max(page, soft) + 0.05) / (min(page, soft) + 0.05)


def _brightness(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [own / 12.92 if own <= 0.04045 else ((own + 0.055) / 1.055) ** 2.4 for own in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_names_are_shown_and_not_run(opened: Open) -> None:
    tab = opened("nasty")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img").count() == 0
    shown = NASTY.replace("\u2028", "")
    assert shown in tab.locator(".warnings").inner_text().replace("\u2028", "")
    assert shown in tab.locator(".classes").text_content().replace("\u2028", "")
    assert "<img src=x onerror=hacked=1>" in tab.locator("#commands").inner_text()


def test_commands_are_copied(opened: Open) -> None:
    tab = opened("cell")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.locator(".command .copy").first.click()
    sync_api.expect(tab.locator(".command .copy").first).to_have_text("Copied", timeout=PATIENCE)
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied == tab.locator(".command code").first.inner_text()
    assert copied.startswith("dartboard search --resume ")


def test_a_live_page_finds_what_is_new_and_keeps_the_readers_place(opened: Open, tmp_path: Path) -> None:
    out = tmp_path / "live.html"
    run = make_search(tmp_path / "s", "darts", epochs=4, finish=False)
    write_report([run.path], out, live=True)
    tab = opened(out, viewport={"width": 900, "height": 600})
    tab.locator("#epoch").fill("1")
    tab.locator("#genotype summary").click()
    tab.evaluate("scrollTo(0, 500)")
    make_search(tmp_path / "s2", "darts", epochs=5, finish=False)
    write_report([tmp_path / "s2"], out, live=True)
    sync_api.expect(tab.locator("#epoch")).to_have_attribute("max", "4", timeout=PATIENCE)
    # The scripts of a page come one after another: the place is found again a moment after the cell is drawn.
    sync_api.expect(tab.locator("#epoch-words")).to_have_text("epoch 2", timeout=PATIENCE)
    tab.wait_for_function("document.getElementById('genotype').open", timeout=PATIENCE)
    tab.wait_for_function("Math.abs(scrollY - 500) < 30", timeout=PATIENCE)
    tab.locator("#pause").click()
    assert tab.locator("#pause").inner_text() == "Go on"
    tab.locator("#epoch").press("End")
    tab.reload()
    assert tab.locator("#epoch-words").inner_text() == "epoch 5"
    assert tab.locator("#pause").inner_text() == "Go on"
