import re
from pathlib import Path

import pytest

from dartboard.cli import display
from dartboard.cli.display import Display, EpochLines, SearchScreen, choose_display, current_choice
from dartboard.cli.render import Terminal, format_metrics
from dartboard.search import EpochRecord, Hook, Searcher
from dartboard.utils.text import span
from helpers.search_cases import search
from helpers.terminal import run_in_terminal

TINY = ("batch=256", "net.channels=4", "health.examples=64", "epochs=2")


class Clock:
    """A clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(display, "monotonic", lambda: self.now)


def test_numbers_that_are_there() -> None:
    metrics = {"train_loss": 1.23456, "train_accuracy": 0.5, "valid_accuracy": 0.25, "entropy": 1.5, "lr": 3}
    assert format_metrics(metrics) == "loss 1.235  train 50.0%  valid 25.0%  entropy 1.500"
    assert format_metrics({"entropy": 0.1}) == "entropy 0.100"


def test_time_left_follows_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, shown, searcher = Clock(monkeypatch), Display(), search("darts", epochs=10)
    searcher.step = 4  # as after a resume
    shown.on_start(searcher)
    clock.now += 8
    searcher.step = 6
    assert shown.left(searcher) == f"{span(4 * (10 * searcher.plan.steps - 6))} left"


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    search("darts", hooks=[EpochLines(Terminal())], epochs=2).fit()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("epoch 1 of 2  loss ")
    assert lines[1].endswith("  0 s left")
    assert "valid" in lines[0]
    assert "entropy" in lines[0]


def test_a_display_that_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Display() as shown:
        search("darts", hooks=[shown]).fit()
        shown.warn("careful")
    assert capsys.readouterr() == ("", "")


def test_a_warning_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    with EpochLines(Terminal()):
        for epoch in (1, 2):
            display.logging.getLogger("dartboard.search").warning("epoch %d: it collapses", epoch)
        display.logging.getLogger("dartboard.search").info("all is well")
    display.logging.getLogger("dartboard.search").debug("nobody listens any more")
    assert capsys.readouterr().out == "warning: it collapses\n"


def test_the_meter_is_read_at_most_four_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, searcher = Clock(monkeypatch), search("darts")
    screen, reads = SearchScreen(Terminal()), []
    monkeypatch.setattr(searcher.meter, "read", lambda: reads.append(clock.now) or {})
    screen.on_start(searcher)
    for _ in range(1000):  # ten seconds
        clock.now += 0.01
        screen.on_step_end(searcher)
    assert 35 <= len(reads) <= 40


def test_strengths_are_looked_at_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, searcher = Clock(monkeypatch), search("darts")
    screen, looks, strengths = SearchScreen(Terminal()), [], searcher.relaxation.strengths
    monkeypatch.setattr(searcher.relaxation, "strengths", lambda: looks.append(clock.now) or strengths())
    screen.on_start(searcher)
    assert looks == [100]
    for _ in range(2000):  # twenty seconds
        clock.now += 0.01
        screen.on_step_end(searcher)
    assert 3 <= len(looks) - 1 <= 4


class Compare(Hook):
    """Notes whether the current choice is what the record of the epoch says."""

    def __init__(self) -> None:
        self.same: list[bool] = []

    def on_epoch_end(self, searcher: Searcher, record: EpochRecord) -> None:
        self.same.append(current_choice(searcher) == (record.genotype, record.metrics["entropy"]))


@pytest.mark.parametrize("method", ["darts", "gdas", "xnas", "asm"])
def test_the_current_choice_is_what_an_epoch_would_record(method: str) -> None:
    compare = Compare()
    search(method, hooks=[compare], epochs=2).fit()
    assert compare.same == [True, True]


@pytest.mark.parametrize("method", ["random-ws", "random"])
def test_there_is_no_current_choice_where_strengths_do_not_decide(method: str) -> None:
    assert current_choice(search(method)) is None


@pytest.mark.parametrize("method", ["gdas", "asm", "random-ws"])
def test_looking_changes_nothing(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PAUSE", 0.0)
    monkeypatch.setattr(display, "LOOK", 0.0)
    seen = search(method, hooks=[SearchScreen(Terminal())], epochs=2).fit()
    assert seen.digest == search(method, epochs=2).fit().digest


def test_a_terminal_sees_a_live_display(program: Path, tmp_path: Path) -> None:
    seen, rest = run_in_terminal(program, tmp_path, "search", *TINY, "epochs=3", stream="stdout")
    assert "\x1b[?25l" in seen  # the cursor hides
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")
    for words in (
        "forecast: ",
        "epoch 1 of 3, step ",
        "epoch 3 of 3, step 2 of 2, choosing the cell",
        "loss ",
    ):
        assert words in seen
    assert seen.count("0 in") > 3  # the cell of each epoch, and at the end
    assert rest == b""


def frames(seen: str) -> list[list[str]]:
    """What the display has shown, one after the other, from the place on."""
    parts = re.split(r"(?=epoch \d+ of \d+, )", seen.split("\x1b[?25h", maxsplit=1)[0])[1:]
    return [re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", part).splitlines() for part in parts]


def test_the_first_frame_has_a_cell_and_its_entropy(program: Path, tmp_path: Path) -> None:
    seen, _ = run_in_terminal(program, tmp_path, "search", *TINY)
    place, values, *rest = frames(seen)[0]
    assert place == "epoch 1 of 2, step 0 of 2, starting"
    assert re.fullmatch(r"entropy 1\.\d{3}", values.strip())
    assert any(line.startswith("0 in") for line in rest)


def test_a_method_that_draws_has_a_cell_after_the_first_epoch(program: Path, tmp_path: Path) -> None:
    few = ("--method", "random-ws", "method.samples=1", "method.epoch_samples=1")
    seen, _ = run_in_terminal(program, tmp_path, "search", *TINY, *few)
    first, *_, last = frames(seen)
    assert not any("0 in" in line or "entropy" in line for line in first)
    assert any("0 in" in line for line in last)
    assert any("entropy" in line for line in last)


def test_where_nothing_is_trained_there_are_no_steps(program: Path, tmp_path: Path) -> None:
    seen, _ = run_in_terminal(program, tmp_path, "search", *TINY, "--method", "random")
    assert "choosing the cell" in seen
    assert "epoch 0" not in seen


def test_cells_that_do_not_fit_have_a_line_each(program: Path, tmp_path: Path) -> None:
    words = ("search", *TINY, "--space", "darts", "space.cells=3", "epochs=1", "health.discrete=false")
    seen, _ = run_in_terminal(program, tmp_path, *words, size=(60, 20))
    assert len(frames(seen)) > 3
    for frame in frames(seen):
        assert len(frame) in (5, 6)  # a warning may follow
        assert all(len(line) <= 60 for line in frame[:5])
        assert [line.split()[0] for line in frame[3:5]] == ["normal", "reduce"]
        assert all(re.match(r"\w+  \d \w+, \d ", line) for line in frame[3:5])


def test_json_leaves_the_display_to_standard_error(program: Path, tmp_path: Path) -> None:
    seen, rest = run_in_terminal(program, tmp_path, "search", *TINY, "--json", stream="stderr")
    assert "epoch 2 of 2, step 2 of 2" in seen
    assert rest.startswith(b'{"run": "runs/darts-nano-digits-s0", ')
    assert rest.count(b"\n") == 1


@pytest.mark.parametrize(
    ("quiet", "json", "kind"),
    [(True, False, Display), (False, True, Display), (True, True, Display), (False, False, EpochLines)],
)
def test_without_a_terminal(quiet: bool, json: bool, kind: type[Display]) -> None:
    found = choose_display(quiet=quiet, json=json)
    assert type(found) is kind
    assert found.shows == (kind is EpochLines)
