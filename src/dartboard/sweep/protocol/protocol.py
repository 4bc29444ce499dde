"""The three-stage protocol as one thing that can be stopped, killed and resumed (Li et al. 2021, C.1).

Several searches; each different network that they found is trained for a few epochs, the clearly bad are
dropped, the others trained to the end; the best is trained anew with many seeds. Random architectures that
are given the same go through the same, so that what searching is worth can be seen.
"""

from collections.abc import Callable, Sequence

import torch

from dartboard.engine.rng_scope import logged
from dartboard.errors import RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.executors.inline import InlineExecutor
from dartboard.jobs.monitor import Monitor
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.runs import SPACE, Run
from dartboard.search.hooks import AnyHook
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.decisions import Decisions
from dartboard.sweep.protocol.jobs import ProtocolJobs
from dartboard.sweep.protocol.networks import FOUND, RANDOM
from dartboard.sweep.protocol.results import (
    ProtocolResult,
    arm,
    conclude,
    measured_on,
    network_facts,
    search_facts,
)
from dartboard.sweep.protocol.stages import Stages
from dartboard.utils.progress import Progress

STACK = "stack"
"""Name of the decision that holds the space whose stack the cells go into."""


class Protocol:
    """The three-stage protocol, in a run that has ordinary runs inside.

    In its directory are `search/s0`, ...; `train/found-0`, ... and `train/random-0`, ... of stage 2;
    `final/found-s0`, ... and `final/random-s0`, ... of stage 3; and decisions.json. The same configuration
    gives the same result, whether it runs through or is killed and resumed, but for times; with
    `random: time` the number of random networks follows from times, and is decided once.

    Args:
        config: What to do.
        space: Searched in the place of the one that `config` names, if given.
        stack: Takes the cells in the place of the one that `config` names, if given.
        device: Where to compute.
        run: Where to write; must be set before `fit`.
        hooks: Of every search and every training; they run where the jobs do, in this process alone.
        message: Called with what starts and what is decided, in words.
        progress: Reports how far the loading of images is.
        executor: Where the jobs run; by default in this process. Closed at the end of `fit`.
        monitor: Callbacks for what happens to jobs.

    Raises:
        DartboardError: If a search or a training could not be made.
    """

    def __init__(
        self,
        config: ProtocolConfig,
        space: SearchSpace | None = None,
        stack: SearchSpace | None = None,
        *,
        device: torch.device | str = "cpu",
        run: Run | None = None,
        hooks: Sequence[AnyHook] = (),
        message: Callable[[str], None] = lambda _: None,
        progress: Progress | None = None,
        executor: Executor | None = None,
        monitor: Monitor | None = None,
    ) -> None:
        self.config, self.run, self.hooks, self.message = config, run, tuple(hooks), message
        self.device, self.executor, self.monitor = torch.device(device), executor, monitor
        self.jobs = ProtocolJobs(config, space, stack, self.device, progress)
        self.examples = self.jobs.rehearse()
        self._queue: JobQueue | None = None
        self._stopping = False

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True
        if self._queue is not None:
            self._queue.stop()

    def fit(self, *, fall_back: bool = False) -> ProtocolResult:
        """Runs all stages, from where an earlier process left off.

        Args:
            fall_back: Whether an older checkpoint will do where the last is damaged.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DivergedError: If a search, a training of stage 3, or all of stage 2 diverged.
            RunError: If there is no run to write to.
        """
        if self.run is None:
            raise RunError("a protocol needs a run to write to: set `run` to Run.create(...)")
        self.jobs.folder, self.jobs.fall_back = self.run.path, fall_back
        executor = self.executor or InlineExecutor(JobRunner(self.hooks, builder=self.jobs.builder))
        queue = self._queue = JobQueue(executor, monitor=self.monitor)
        if self._stopping:  # the request may have come before there was a queue
            queue.stop()
        try:
            with logged(self.run):
                stages = Stages(self.jobs, queue, Decisions(self.run.path), self.examples, self.message)
                result = self._run_stages(stages)
                self.run.finish(result.facts())
                return result
        finally:
            executor.close()
            self._queue, self._stopping = None, False

    def _run_stages(self, stages: Stages) -> ProtocolResult:
        stages.decisions.once(STACK, lambda: space_to_json(self.jobs.stack_space))
        searches, networks = stages.search()
        choices = {FOUND: stages.select(FOUND, networks)}
        if self.config.random != "none":
            drawn = stages.draw(searches, choices[FOUND].trials)
            choices[RANDOM] = stages.select(RANDOM, drawn)
        finals = {name: stages.retrain(name, choice.best) for name, choice in choices.items()}
        rows = [search_facts(run, networks) for run in searches]
        search_seconds = {FOUND: sum(row.seconds for row in rows), RANDOM: 0.0}
        arms = {}
        for name, choice in choices.items():
            screened = [
                network_facts(network, choice.trials[network.name], stages.screening_run(network))
                for network in choice.networks
            ]
            arms[name] = arm(choice.best, screened, finals[name], search_seconds[name])
        return conclude(rows, arms, part=measured_on(finals[FOUND][0]), examples=self.examples)


def reopen(
    run: Run,
    *,
    device: torch.device | str = "cpu",
    hooks: Sequence[AnyHook] = (),
    message: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
    executor: Executor | None = None,
    monitor: Monitor | None = None,
) -> Protocol:
    """The protocol of an existing run, with the space and the stack that it has recorded.

    Args:
        run: To resume.
        device: Where to compute.
        hooks: Of every search and every training.
        message: Called with what starts and what is decided, in words.
        progress: Reports how far the loading of images is.
        executor: Where the jobs run; by default in this process.
        monitor: Callbacks for what happens to jobs.
    """
    text = Decisions(run.path).get(STACK)
    return Protocol(
        PROTOCOL.validate(run.config),
        load_space(run.path / SPACE),
        None if text is None else space_from_json(text),
        device=device,
        run=run,
        hooks=hooks,
        message=message,
        progress=progress,
        executor=executor,
        monitor=monitor,
    )
