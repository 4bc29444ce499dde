"""Exit codes, as the help, the page and the program have them; signals are sent in the tests of commands."""

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dartboard.cli.exit_codes import EXIT_CODES, FAILED, INTERRUPTED, MISTAKE, PIPE_CLOSED, TERMINATED
from dartboard.cli.main import main
from helpers.report_runs import make_search

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scripting.md"
Capture = pytest.CaptureFixture[str]


def test_help_and_page_have_the_same_codes(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    rows = re.findall(r"^  (\d+) +(.+)$", capsys.readouterr().out.split("exit codes:\n")[1], re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES


def test_signals_have_the_codes_of_shells() -> None:
    assert (INTERRUPTED, PIPE_CLOSED, TERMINATED) == (130, 141, 143)
    names = (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)
    assert [128 + number for number in names] == [INTERRUPTED, PIPE_CLOSED, TERMINATED]


def test_damage_and_mistakes(tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / "run"
    make_search(run)
    assert main(["runs", "check", str(run)]) == 0
    (run / "config.yaml").write_text("epochs: 7")
    assert main(["runs", "check", str(run)]) == FAILED
    assert main(["runs", "check", str(tmp_path / "nothing")]) == MISTAKE
    assert capsys.readouterr().err.count("\n") == 1


SEARCH = (
    "search",
    "epochs=1000",
    "batch=256",
    "net.channels=4",
    "health.examples=64",
    "--no-report",
    "--json",
)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
def test_a_search_that_is_stopped_prints_no_object(
    number: signal.Signals, code: int, program: Path, tmp_path: Path
) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [program, *SEARCH, "--out", "run"], cwd=tmp_path, stdout=pipe, stderr=pipe
    ) as process:
        metrics = tmp_path / "run" / "metrics.jsonl"
        while not metrics.exists() or not metrics.stat().st_size:
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (code, b"")
    assert b"resume with: dartboard search --resume run" in err
