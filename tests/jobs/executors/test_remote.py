"""The files of jobs that wait in a queue."""

from pathlib import Path

import pytest

from dartboard.errors import RunError
from dartboard.jobs.executors._remote import Submission, list_submissions
from dartboard.jobs.job import Job, JobResult

JOB = Job("search/a", "/sweep", "search", {"epochs": 2, "weights": {"lr": 0.1}}, until=1, plugins=("own.py",))


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    return Submission.create(tmp_path / "queue", JOB)


def test_a_job_is_read_as_it_was_written(submission: Submission) -> None:
    assert submission.job() == JOB
    assert submission.is_of(JOB)
    assert not submission.is_of(Job("search/a", "/sweep", "search", {"epochs": 2}))
    assert submission.flag.exists()
    assert submission.id is None
    assert list(list_submissions(submission.path.parent)) == [submission]
    assert list(list_submissions(submission.path / "nowhere")) == []


def test_its_number_is_known_from_the_driver_or_the_job(submission: Submission) -> None:
    assert not submission.has_begun()
    assert submission.begin("7")
    assert submission.has_begun()
    assert submission.id == "7"
    submission.record_id("8")
    assert submission.id == "8"


def test_a_result_is_kept_until_the_job_begins_again(submission: Submission) -> None:
    assert submission.result(JOB) is None
    submission.end(JobResult(JOB, "failed", "no memory"))
    assert submission.has_ended()
    assert submission.result(JOB) == JobResult(JOB, "failed", "no memory")
    submission.begin("7")
    assert submission.result(JOB) is None


def test_what_was_withdrawn_neither_begins_nor_ends(submission: Submission) -> None:
    submission.withdraw()
    submission.withdraw()
    assert submission.begin("7") is False
    submission.end(JobResult(JOB, "finished"))
    assert not submission.path.exists()
    assert list(submission.path.parent.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", '{"name": "a"}', '{"state": "gone"}'])
def test_files_that_were_changed(text: str, submission: Submission) -> None:
    (submission.path / "job.json").write_text(text)
    (submission.path / "outcome.json").write_text(text)
    with pytest.raises(RunError, match=r"job\.json .*it was changed"):
        submission.job()
    with pytest.raises(RunError, match=r"outcome\.json .*it was changed"):
        submission.result(JOB)
