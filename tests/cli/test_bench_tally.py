from dataclasses import replace

import pytest
from dartboard.scoreboard.runner import Outcome

from benches import settings
from benching import record
from dartboard.cli.bench import Tally, describe
from dartboard.scoreboard.jobs import Job, plan_jobs


@pytest.fixture
def job() -> Job:
    return plan_jobs(settings("digits", seeds="3"))[0]


@pytest.mark.parametrize(
    ("count", "missing", "words"),
    [
        (1, 1, "1 search of nano on digits, on cpu"),
        (2, 2, "2 searches of nano on digits, on cpu"),
        (2, 1, "2 searches of nano on digits, on cpu: 1 done, 1 to do"),
        (1, 0, "1 search of nano on digits, on cpu: 1 done, 0 to do"),
    ],
)
def test_what_is_about_to_be_done(count: int, missing: int, words: str) -> None:
    assert describe(settings("digits"), count, missing, "cpu") == words


def test_one_line_a_search(job: Job) -> None:
    tally, done = Tally(4), record("darts", 3, [0.5, 0.75])
    assert tally.line(Outcome(job, done)).startswith("darts  seed 3  2 epochs  one 75.00%  4 s  3 left, ")
    short = replace(done, final=replace(done.final, epoch=1, seconds=None))
    assert tally.line(Outcome(job, short)).startswith("darts  seed 3  1 epoch  one 75.00%  2 left, ")
    assert tally.line(Outcome(job, failure="why")).startswith("darts  seed 3  failed: why  1 left, ")
    busy = tally.line(Outcome(job, busy=True))
    assert busy == "darts  seed 3  being done by another process  none left"
