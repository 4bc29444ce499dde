"""The three-stage protocol in a run directory; it can be stopped, killed and resumed."""

from collections.abc import Callable, Sequence

import torch

from dartboard.engine.process import logged
from dartboard.errors import RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.executors.inline import InlineExecutor
from dartboard.jobs.job import Monitor
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.runs import SPACE, Run
from dartboard.search.hooks import AnyHook
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.driver import run_stages
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.jobs import ProtocolJobs
from dartboard.sweep.protocol.plan import ProtocolPlan
from dartboard.sweep.protocol.results import ProtocolResult, conclude
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
        hooks: Hooks of every search and every training, for jobs that run in this process.
        message: Called with one line for each stage and decision.
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
                plan = ProtocolPlan(self.jobs, DecisionLog(self.run.path), self.examples, self.message)
                plan.log.once(STACK, lambda: space_to_json(self.jobs.stack_space))
                run_stages(plan, queue)
                selections = {arm: plan.selection(arm) for arm in plan.arms}
                finals = {arm: plan.runs(f"final {arm}") for arm in plan.arms}
                result = conclude(plan.runs("search"), selections, finals, self.examples)
                self.run.finish(result.facts())
                return result
        finally:
            executor.close()
            self._queue, self._stopping = None, False


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
    """The protocol of an existing run, with the spaces that it has recorded; arguments as `Protocol`."""
    text = DecisionLog(run.path).get(STACK)
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
