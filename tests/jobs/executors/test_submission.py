"""What a sweep's directory says about jobs in a queue."""

from pathlib import Path

import pytest

from dartboard.errors import RunError
from dartboard.jobs.executors._submission import Submission, list_submissions
from dartboard.jobs.job import Job, JobResult

JOB = Job("search/a", "/sweep", "search", {"epochs": 2, "weights": {"lr": 0.1}}, until=1, plugins=("own.py",))


@pytest.fixture
def own(tmp_path: Path) -> Submission:
    return Submission.create(tmp_path / "queue", JOB)


def test_a_job_is_read_as_it_was_written(own: Submission) -> None:
    assert own.job() == JOB
    assert own.is_of(JOB)
    assert not own.is_of(Job("search/a", "/sweep", "search", {"epochs": 2}))
    assert own.flag.exists()
    assert own.id is None
    assert list(list_submissions(own.path.parent)) == [own]
    assert list(list_submissions(own.path / "nowhere")) == []


def test_its_number_is_known_from_the_driver_or_the_job(own: Submission) -> None:
    assert not own.has_begun()
    assert own.submit("7")
    assert own.has_begun()
    assert own.id == "7"
    own.number("8")
    assert own.id == "8"


def test_an_outcome_is_kept_until_the_job_begins_again(own: Submission) -> None:
    assert own.outcome(JOB) is None
    own.end(JobResult(JOB, "failed", "no memory"))
    assert own.has_ended()
    assert own.outcome(JOB) == JobResult(JOB, "failed", "no memory")
    own.submit("7")
    assert own.outcome(JOB) is None


def test_what_was_withdrawn_neither_begins_nor_ends(own: Submission) -> None:
    own.withdraw()
    own.withdraw()
    assert own.submit("7") is False
    own.end(JobResult(JOB, "finished"))
    assert not own.path.exists()
    assert list(own.path.parent.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", '{"name": "a"}', '{"state": "gone"}'])
def test_files_that_were_changed(text: str, own: Submission) -> None:
    (own.path / "job.json").write_text(text)
    (own.path / "outcome.json").write_text(text)
    with pytest.raises(RunError, match=r"job\.json .*it was changed"):
        own.job()
    with pytest.raises(RunError, match=r"outcome\.json .*it was changed"):
        own.outcome(JOB)
