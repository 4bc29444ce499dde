"""The three-stage protocol in a run directory: it can be stopped, killed and resumed. And its results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from dartboard.engine.hooks import AnyHook
from dartboard.engine.process import logged
from dartboard.errors import RunError
from dartboard.jobs.executors import Executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import Monitor
from dartboard.jobs.queue import JobQueue, run_stages
from dartboard.jobs.runner import JobRunner
from dartboard.runs import SPACE, Run, RunReader
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.decision_log import DecisionLog
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.jobs import ProtocolJobs
from dartboard.sweep.protocol.plan import FOUND, RANDOM, ProtocolPlan, Selection
from dartboard.train.build import TEST, VALID
from dartboard.utils.progress import Progress
from dartboard.utils.statistics import Difference, Summary, compare, summarize

STACK = "stack"
"""Name of the decision that holds the space whose stack the cells go into."""


@dataclass(frozen=True)
class SearchFacts:
    """A search of stage 1.

    Args:
        run: Its directory inside the protocol's.
        seed: Its random seed.
        network: Name of the network it found; equal genotypes have one name.
        genotype: The cells it found, as plain values.
        valid_accuracy: Accuracy of the supernet on held-out images; None if nothing was trained.
        discrete_accuracy: The same with the selected ops alone.
        seconds: Its duration.
    """

    run: str
    seed: int
    network: str
    genotype: Any
    valid_accuracy: float | None
    discrete_accuracy: float | None
    seconds: float


@dataclass(frozen=True)
class NetworkFacts:
    """A network of stage 2.

    Args:
        run: Its directory inside the protocol's.
        genotype: Its cells, as plain values.
        seeds: Seeds of the searches that found it.
        short_accuracy: Accuracy on held-out images after the short training; None if there was none.
        accuracy: Accuracy at the end; None for one that was pruned.
        dropped: Reason for which it was pruned; None for one that was not.
        seconds: Duration of its training.
    """

    run: str
    genotype: Any
    seeds: Sequence[int]
    short_accuracy: float | None
    accuracy: float | None
    dropped: str | None
    seconds: float


@dataclass(frozen=True)
class FinalFacts:
    """A training of stage 3: its directory inside the protocol's, its accuracy after the last epoch."""

    run: str
    seed: int
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Arm:
    """Results of one arm: the networks that searches found, or the random ones.

    Args:
        networks: The networks of stage 2.
        best: Name of the network that was trained in stage 3.
        genotype: Its cells, as plain values.
        finals: The trainings of stage 3.
        summary: Mean and standard deviation of their accuracies.
        parameters: Number of parameters of the best network.
        flops: FLOPs of the best network for one image, two for a multiply-add.
        seconds: Seconds spent by stage: `search`, `choose`, `final`, and `total`.
    """

    networks: tuple[NetworkFacts, ...]
    best: str
    genotype: Any
    finals: tuple[FinalFacts, ...]
    summary: Summary
    parameters: int
    flops: int
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class ProtocolResult:
    """Results of a protocol.

    Args:
        searches: The searches of stage 1.
        arms: Stages 2 and 3: `found`, and `random` unless there were no random architectures.
        measured_on: Part that stage 3 is measured on: `test`, or `valid` where there is no test part.
        examples: Number of images by which networks were selected in stage 2.
        difference: Difference of the mean accuracies, found less random; None without random architectures.
        verdict: In one sentence, whether search beat random here.
    """

    searches: tuple[SearchFacts, ...]
    arms: Mapping[str, Arm]
    measured_on: str
    examples: int
    difference: Difference | None
    verdict: str

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; `genotype` is that of the best network that was found."""
        return {"genotype": self.arms[FOUND].genotype, **asdict(self)}


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

        With `fall_back`, an older checkpoint will do where the last is damaged.

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


def conclude(
    searches: Sequence[RunReader],
    selections: Mapping[str, Selection],
    finals: Mapping[str, Sequence[RunReader]],
    examples: int,
) -> ProtocolResult:
    """The result of a protocol, with the comparison of its arms.

    Takes the runs of stage 1; by arm the results of stage 2 and the runs of stage 3; and the number of images
    by which networks were selected.
    """
    rows = []
    for run in searches:
        result, seed = run.result() or {}, run.config["seed"]
        network = next(cell.name for cell in selections[FOUND].cells if seed in cell.seeds)
        rows.append(
            SearchFacts(
                run=_name(run),
                seed=seed,
                network=network,
                genotype=result["genotype"],
                valid_accuracy=result["valid_accuracy"],
                discrete_accuracy=result["discrete_accuracy"],
                seconds=result["seconds"],
            )
        )
    part = TEST if TEST in (finals[FOUND][0].result() or {})["last"] else VALID
    seconds = {FOUND: sum(row.seconds for row in rows), RANDOM: 0.0}
    arms = {arm: _conclude_arm(selections[arm], finals[arm], part, seconds[arm]) for arm in selections}
    difference = None
    sentence = "No random architectures were trained to compare with."
    if RANDOM in arms:
        found, random = ([final.accuracy for final in arms[name].finals] for name in (FOUND, RANDOM))
        difference = compare(found, random)
        sentence = verdict(difference)
    return ProtocolResult(tuple(rows), arms, part, examples, difference, sentence)


def _conclude_arm(selection: Selection, finals: Sequence[RunReader], part: str, search_seconds: float) -> Arm:
    """Results of one arm, for which `search_seconds` of stage 1 were spent."""
    networks = []
    for cell in selection.cells:
        run = RunReader.read(finals[0].path.parents[1] / "train" / cell.name)
        trial = selection.trials[cell.name]
        metrics = run.metrics()
        networks.append(
            NetworkFacts(
                run=_name(run),
                genotype=cell.genotype,
                seeds=cell.seeds,
                short_accuracy=trial.short,
                accuracy=trial.accuracy,
                dropped=trial.dropped,
                seconds=(run.result() or {}).get("seconds") or (metrics[-1]["seconds"] if metrics else 0.0),
            )
        )
    rows = []
    for run in finals:
        result = run.result() or {}
        accuracy = result["last"][part]["top1"]
        rows.append(FinalFacts(_name(run), run.config["seed"], accuracy, result["seconds"]))
    seconds = {
        "search": search_seconds,
        "choose": sum(network.seconds for network in networks),
        "final": sum(row.seconds for row in rows),
    }
    first = finals[0].result() or {}
    return Arm(
        networks=tuple(networks),
        best=selection.best.name,
        genotype=selection.best.genotype,
        finals=tuple(rows),
        summary=summarize([row.accuracy for row in rows]),
        parameters=first["parameters"],
        flops=first["flops"],
        seconds=seconds | {"total": sum(seconds.values())},
    )


def verdict(difference: Difference) -> str:
    """One sentence that says whether search beat random architectures."""
    points = f"{100 * difference.mean:+.2f} points"
    if difference.low is None or difference.high is None:
        return f"With one seed nobody can say whether search beat random here: {points}, without an interval."
    interval = f"{points}, 95 % interval {100 * difference.low:+.2f} to {100 * difference.high:+.2f}"
    if difference.low > 0:
        return f"Search beat random here: {interval}."
    if difference.high < 0:
        return f"Random beat search here: {interval}."
    return f"Search did not beat random here, nor random search: {interval}."


def _name(run: RunReader) -> str:
    """Its directory inside the protocol's."""
    return "/".join(run.path.parts[-2:])
