"""The stages of a protocol as they run: those of a planned sweep, of which none may fail."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dartboard.errors import DivergedError, RunError
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.sweep.cells import finished_runs, held_out_accuracy
from dartboard.sweep.decision_log import CellsDecision, read_cells
from dartboard.sweep.grid import PlannedRun
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.protocol.preset import FINAL, SEARCH, TRAIN
from dartboard.sweep.pruning import DIVERGED, Pruner

log = logging.getLogger(__name__)


@dataclass(eq=False)
class ProtocolStages:
    """The stages of a protocol.

    Args:
        planner: Plans its runs.
        message: Called with one line for each stage and decision.
    """

    planner: SweepPlanner
    message: Callable[[str], None]
    runs: dict[str, list[PlannedRun]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.stages = list(self.planner.stages)
        self.arms = [arm for arm, stage in TRAIN.items() if stage in self.stages]
        self.planner.message = self._message
        self.pruner = Pruner(self.planner, self._message, self._reason_to_prune)

    def cells(self, stage: str) -> CellsDecision:
        """The cells that a stage has taken."""
        decision = read_cells(self.planner.log, stage)
        assert decision is not None  # noqa: S101  # it has begun
        return decision

    def begin(self, stage: str) -> list[Job]:
        """The jobs of a stage; the best networks of the arms are selected as soon as they can be."""
        for arm in self.arms:
            if TRAIN[arm] in self.runs and FINAL[arm] not in self.runs:
                self._select(arm)
        if stage not in self.runs:
            self.runs[stage] = self.planner.plan(stage)
        runs, arm = self.runs[stage], stage.partition("-")[2]
        if stage == SEARCH:
            self._message(f"stage 1: {len(runs)} searches")
        elif stage in FINAL.values():
            self._message(f"stage 3, {arm}: {self.cells(stage).cells[0].label} with {len(runs)} seeds")
        else:
            self._report_cells(stage)
            self._message(f"stage 2, {arm}: {len(runs)} networks")
            if read_cells(self.planner.log, FINAL[arm]) is not None:
                return []  # one that diverged is not tried again
        return [self.planner.job(run) for run in runs]

    def _report_cells(self, stage: str) -> None:
        """Says which searches found the same network."""
        seeds = {run.name: run.config["seed"] for run in self.runs[SEARCH]}
        for cell in self.cells(stage).cells:
            if len(cell.runs) > 1:
                texts = ", ".join(str(seeds[name]) for name in cell.runs)
                self._message(f"the searches with seeds {texts} found the same network: it is trained once")

    def _select(self, arm: str) -> None:
        """Selects the best network of an arm, whose trainings have ended.

        Raises:
            DivergedError: If none of them came to its end.
        """
        finished = finished_runs(self.planner.folder, self.runs[TRAIN[arm]])
        if not finished:
            raise DivergedError(
                f"the trainings of all {arm} networks diverged; a smaller train.weights.lr may help"
            )
        is_new = read_cells(self.planner.log, FINAL[arm]) is None
        self.runs[FINAL[arm]] = self.planner.plan(FINAL[arm])
        if is_new:
            name = f"train/{self.cells(FINAL[arm]).cells[0].label}"
            accuracy = held_out_accuracy(finished[name])
            self._message(f"{name} is the best {arm} network: {accuracy:.2%} of held-out images")

    def rungs(self, stage: str) -> Sequence[int]:
        """Numbers of epochs after which the runs of a stage are compared."""
        return self.planner.stages[stage].stop.after

    def prune(self, stage: str, epochs: int, jobs: Mapping[str, Job], queue: JobQueue) -> Collection[str]:
        """Names of the jobs that are pruned after the short trainings, or that no time is left for."""
        return self.pruner.prune(stage, epochs, jobs, queue)

    def end(self, result: JobResult) -> None:
        """Takes the result of a job.

        Raises:
            DivergedError: If a search or a training of stage 3 diverged.
            RunError: If a job failed for another reason.
        """
        if result.state == "failed":
            self._reason_to_prune(result)
            if not result.job.name.startswith("train/"):
                raise DivergedError(result.error)

    def _reason_to_prune(self, result: JobResult) -> str:
        """Why a job that failed is pruned; raises its error unless it diverged."""
        if result.error_type != DivergedError.__name__:
            raise RunError(f"{result.job.name}: {result.error}")
        log.warning("%s: %s", result.job.name, result.error)
        return DIVERGED

    def _message(self, text: str) -> None:
        log.info("%s", text)
        self.message(text)
