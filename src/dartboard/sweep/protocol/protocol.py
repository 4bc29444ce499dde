"""The three-stage protocol in a run directory: it can be stopped, killed and resumed. And its results."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from dartboard.engine.hooks import AnyHook
from dartboard.engine.process import logged
from dartboard.errors import OptionError, RunError
from dartboard.jobs.executors import Executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import Job, Monitor
from dartboard.jobs.loops import LoopBuilder
from dartboard.jobs.queue import JobQueue, run_stages
from dartboard.jobs.runner import JobRunner
from dartboard.plugins import check_plugins
from dartboard.runs import Run, RunReader
from dartboard.search import Searcher
from dartboard.search.config import build_space, recorded_config
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.cells import held_out_accuracy, placeholder_cell
from dartboard.sweep.decision_log import CHANGED, NAME, DecisionLog, read_rung
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.old_decisions import convert, is_old
from dartboard.sweep.protocol.preset import FINAL, FOUND, RANDOM, RUN_NAMES, SEARCH, TRAIN, to_sweep
from dartboard.sweep.protocol.stages import ProtocolStages
from dartboard.sweep.pruning import DIVERGED
from dartboard.sweep.random_cells import NO_TIME
from dartboard.train import Trainer
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
        check_plugins((*config.search.plugins, *config.train.plugins))
        self.space = space or build_space(config.search.space)
        self.stack = stack or self.space
        if stack is None and config.train.space.name is not None:
            self.stack = load_space(config.train.space.name)
        self.builder, self.progress = LoopBuilder(self.device), progress
        with TemporaryDirectory() as folder:
            self._rehearsal = self._planner(Path(folder))
            try:
                self.planned = self._rehearsal.rehearse()
            except OptionError as error:  # without the name of the run: all of a stage have the same settings
                raise (error.__cause__ or error) from None
        self.examples = self._rehearsal.examples(self._job(TRAIN[FOUND]))
        self._queue: JobQueue | None = None
        self._stopping = False

    def _planner(self, folder: Path, *, fall_back: bool = False) -> SweepPlanner:
        return SweepPlanner(
            to_sweep(self.config),
            folder,
            progress=self.progress,
            fall_back=fall_back,
            names=RUN_NAMES,
            spaces={"search": self.space, "train": self.stack},
            builder=self.builder,
            same_images=False,
        )

    def _job(self, stage: str) -> Job:
        """A job of a stage; where a cell is not known yet, that of a random one."""
        return self._rehearsal.job(self.planned[stage][0])

    def build(self, stage: str) -> Searcher | Trainer:
        """A search or a training of a stage, without a run."""
        return self.builder.build_job(self._job(stage))

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
        executor = self.executor or InlineExecutor(JobRunner(self.hooks, builder=self.builder))
        queue = self._queue = JobQueue(executor, monitor=self.monitor)
        if self._stopping:  # the request may have come before there was a queue
            queue.stop()
        try:
            with logged(self.run):
                planner = self._planner(self.run.path, fall_back=fall_back)
                planner.log.once(STACK, lambda: space_to_json(self.stack))
                stages = ProtocolStages(planner, self.message)
                self._convert_decisions(planner)
                run_stages(stages, queue)
                result = conclude(stages, self.examples)
                self.run.finish(result.facts())
                return result
        finally:
            executor.close()
            self._queue, self._stopping = None, False

    def _convert_decisions(self, planner: SweepPlanner) -> None:
        """Rewrites decisions that an earlier version made.

        Raises:
            RunError: If they are damaged.
        """
        if not is_old(planner.log.decisions):
            return
        searches = planner.plan(SEARCH)
        cell = placeholder_cell(searches[0].config, self.space, 0)
        names = [run.name for run in searches]
        try:
            planner.log.rewrite(convert(planner.log.decisions, self.config, names, cell))
        except (LookupError, TypeError, AttributeError):
            raise RunError(f"{NAME} should hold the decisions of a protocol; {CHANGED}") from None


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
    search = recorded_config(run.config["search"])
    return Protocol(
        PROTOCOL.validate(run.config).model_copy(update={"search": search}),
        run.space(),
        None if text is None else space_from_json(text),
        device=device,
        run=run,
        hooks=hooks,
        message=message,
        progress=progress,
        executor=executor,
        monitor=monitor,
    )


def conclude(stages: ProtocolStages, examples: int) -> ProtocolResult:
    """The result of a protocol whose stages have been run, with the comparison of its arms.

    `examples` is the number of images by which networks were selected.
    """
    found_cells = stages.cells(TRAIN[FOUND]).cells
    rows = []
    for name, run in _read_runs(stages, SEARCH).items():
        result = run.result() or {}
        rows.append(
            SearchFacts(
                run=name,
                seed=run.config["seed"],
                network=next(cell.label for cell in found_cells if name in cell.runs),
                genotype=result["genotype"],
                valid_accuracy=result["valid_accuracy"],
                discrete_accuracy=result["discrete_accuracy"],
                seconds=result["seconds"],
            )
        )
    first_final = next(iter(_read_runs(stages, FINAL[FOUND]).values()))
    part = TEST if TEST in (first_final.result() or {})["last"] else VALID
    seconds = {FOUND: sum(row.seconds for row in rows), RANDOM: 0.0}
    arms = {arm: _conclude_arm(stages, arm, part, seconds[arm]) for arm in stages.arms}
    difference = None
    sentence = "No random architectures were trained to compare with."
    if RANDOM in arms:
        found, random = ([final.accuracy for final in arms[name].finals] for name in (FOUND, RANDOM))
        difference = compare(found, random)
        sentence = verdict(difference)
    return ProtocolResult(tuple(rows), arms, part, examples, difference, sentence)


def _conclude_arm(stages: ProtocolStages, arm: str, part: str, search_seconds: float) -> Arm:
    """Results of one arm, for which `search_seconds` of stage 1 were spent."""
    finals = _read_runs(stages, FINAL[arm])
    rows = []
    for name, run in finals.items():
        result = run.result() or {}
        rows.append(FinalFacts(name, run.config["seed"], result["last"][part]["top1"], result["seconds"]))
    networks = _conclude_networks(stages, arm)
    seconds = {
        "search": search_seconds,
        "choose": sum(network.seconds for network in networks),
        "final": sum(row.seconds for row in rows),
    }
    best = stages.cells(FINAL[arm]).cells[0]
    first = next(iter(finals.values())).result() or {}
    return Arm(
        networks=tuple(networks),
        best=best.label,
        genotype=json.loads(best.text),
        finals=tuple(rows),
        summary=summarize([row.accuracy for row in rows]),
        parameters=first["parameters"],
        flops=first["flops"],
        seconds=seconds | {"total": sum(seconds.values())},
    )


def _conclude_networks(stages: ProtocolStages, arm: str) -> list[NetworkFacts]:
    """The networks of an arm that were trained in stage 2, without those that no time was left for."""
    log, stage = stages.planner.log, TRAIN[arm]
    seeds = {run.name: run.config["seed"] for run in stages.runs[SEARCH]}
    rungs = [rung for epochs in stages.rungs(stage) if (rung := read_rung(log, stage, epochs)) is not None]
    short = {name: accuracy for rung in rungs for name, accuracy in rung.accuracies.items()}
    pruned = {name: reason for rung in rungs for name, reason in rung.pruned.items()}
    networks = []
    for cell, planned in zip(stages.cells(stage).cells, stages.runs[stage], strict=True):
        dropped = pruned.get(planned.name)
        if dropped == NO_TIME:
            continue
        run = RunReader.read(stages.planner.folder / planned.name)
        is_finished = planned.name in stages.cells(FINAL[arm]).finished
        metrics = run.metrics()
        networks.append(
            NetworkFacts(
                run=planned.name,
                genotype=json.loads(cell.text),
                seeds=[seeds[name] for name in cell.runs],
                short_accuracy=short.get(planned.name),
                accuracy=held_out_accuracy(run) if is_finished else None,
                dropped=dropped or (None if is_finished else DIVERGED),
                seconds=(run.result() or {}).get("seconds") or (metrics[-1]["seconds"] if metrics else 0.0),
            )
        )
    return networks


def _read_runs(stages: ProtocolStages, stage: str) -> dict[str, RunReader]:
    """The runs of a stage by name."""
    return {run.name: RunReader.read(stages.planner.folder / run.name) for run in stages.runs[stage]}


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
