"""The executor that does jobs in processes of this machine: a run a device, or cores shared out."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from signal import SIGKILL
from typing import Any

import torch
from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.jobs.device import find_device
from dartboard.jobs.executors.base import EXECUTORS
from dartboard.jobs.executors.remote import checked, fitted
from dartboard.jobs.job import Job, Outcome
from dartboard.jobs.runner import Desk
from dartboard.utils.parallel import cores
from dartboard.utils.worker_pool import Crew, Ended

VISIBLE = "CUDA_VISIBLE_DEVICES"


class PoolOptions(Options):
    """How many processes there are, and what each computes with."""

    jobs: Count | None = Field(
        default=None, description="runs at a time; by default one a GPU, or as many as cores allow"
    )
    threads: Count | None = Field(
        default=None, description="threads of new runs on CPUs; by default the cores are shared out"
    )
    device: str | None = Field(
        default=None, description="where to compute; by default GPUs if there are any, else the CPU"
    )


@dataclass(frozen=True)
class Share:
    """What each of several processes has of a machine.

    Args:
        cards: For each process, which GPU it sees; None for all, or where it computes elsewhere.
        threads: Of each, on a CPU.
    """

    cards: tuple[str | None, ...]
    threads: int


def share_out(options: PoolOptions, cards: Sequence[str], cores: int) -> Share:
    """Shares a machine out among processes.

    Args:
        options: What is asked for.
        cards: The GPUs there are, by the names that processes see them under.
        cores: The cores there are.
    """
    on_cards = bool(cards) and options.device in (None, "cuda")
    count = options.jobs or (len(cards) if on_cards else max(cores // (options.threads or 1), 1))
    chosen = [cards[place % len(cards)] if on_cards else None for place in range(count)]
    return Share(tuple(chosen), options.threads or max(cores // count, 1))


def visible_cards() -> list[str]:
    """The GPUs of this process, by the names that other processes see them under."""
    named = os.environ.get(VISIBLE, "")
    names = [name.strip() for name in named.split(",") if name.strip()]
    return (names or [str(place) for place in range(torch.cuda.device_count())])[: torch.cuda.device_count()]


def hire(card: str | None) -> Desk:
    """Who does the jobs of a process, on the GPU that it sees."""
    if card is not None:
        os.environ[VISIBLE] = card  # before torch looks for GPUs
    return Desk()


def _how(code: int | None) -> str:
    """How a process ended, in words."""
    if code == -SIGKILL:
        return "its process was killed; if memory ran out, use fewer jobs"
    return f"its process ended with code {code}"


@EXECUTORS.register("pool")
class Pool:
    """Does jobs in processes that end with this one; they are started when they are needed, and used again.

    Args:
        options: How many, and what each computes with; see `PoolOptions`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = self.check(options)
        self.share = share_out(self._options, visible_cards(), cores())
        self.room = len(self.share.cards)
        self._crew: Crew[Job, Outcome] = Crew([partial(hire, card) for card in self.share.cards])
        self._jobs: dict[str, Job] = {}
        self._stopping = self._told = False

    @staticmethod
    def check(options: Mapping[str, Any]) -> PoolOptions:
        """What plain values ask for; raises a DartboardError if it cannot be."""
        own = checked(PoolOptions, options)
        find_device(own.device)  # one that is not there is better known at once
        return own

    def begin(self, job: Job) -> None:
        """Gives a job to a process that has nothing to do."""
        self._jobs[job.name] = job
        self._crew.begin(fitted(job, threads=self.share.threads, device=self._options.device))

    def ended(self, seconds: float) -> Sequence[Outcome]:
        """The jobs that have ended since it was last asked; waits at most so long for the first."""
        if self._stopping and not self._told:  # not in `stop`: a signal may come while something is sent
            self._told = True
            self._crew.stop()
        return [self._outcome(own) for own in self._crew.ended(seconds)]

    def _outcome(self, ended: Ended[Job, Outcome]) -> Outcome:
        job = self._jobs.pop(ended.job.name)
        if ended.outcome is None:
            return Outcome(job, "lost", _how(ended.code))
        return Outcome(job, ended.outcome.state, ended.outcome.error)

    def stop(self) -> None:
        """Asks all jobs to save their state after the current step and to stop; for signal handlers."""
        self._stopping = True

    def close(self) -> None:
        """Ends all processes, at once those that are at something."""
        self._crew.close()
