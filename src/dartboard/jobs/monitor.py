"""Callbacks for what happens to jobs; torch is not needed to import them."""

from collections.abc import Mapping, Sequence
from typing import Any

from dartboard.jobs.job import Job, JobResult


class Monitor:
    """Callbacks for what happens to jobs; a base class of no-ops."""

    def on_stage(self, name: str, runs: Sequence[str]) -> None:
        """When a stage begins, with the names of its runs, finished ones among them."""

    def on_start(self, job: Job) -> None:
        """When a job is submitted, or submitted again."""

    def on_end(self, result: JobResult, again: bool) -> None:
        """When a job has ended; `again` says whether it will be submitted again."""

    def on_row(self, row: Mapping[str, Any]) -> None:
        """When a run of a sweep is over for good, with its row of the results."""

    def on_poll(self, running: Sequence[Job]) -> None:
        """Several times a second, with the jobs that are running."""

    def message(self, text: str) -> None:
        """When something is decided."""
