"""The three-stage protocol as one thing that can be stopped, killed and resumed (Li et al. 2021, C.1).

Several searches; each different network that they found is trained for a few epochs, the clearly bad are
dropped, the others trained to the end; the best is trained anew with many seeds. Random architectures that
are given the same go through the same, so that what searching is worth can be seen.
"""

from collections.abc import Callable, Sequence

import torch

from dartboard.engine.rng_scope import logged
from dartboard.errors import RunError
from dartboard.jobs.inner import Inner
from dartboard.runs import SPACE, Run
from dartboard.search.hooks import AnyHook
from dartboard.space import SearchSpace, load_space, space_from_json, space_to_json
from dartboard.sweep.protocol.config import PROTOCOL, ProtocolConfig
from dartboard.sweep.protocol.decisions import Decisions
from dartboard.sweep.protocol.jobs import Jobs, gather
from dartboard.sweep.protocol.networks import FOUND, RANDOM, Choice
from dartboard.sweep.protocol.results import (
    Arm,
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
"""The decision that says whose stack the cells go into."""
Tell = Callable[[str], None]
"""Is told what happens, in words."""


class Protocol:
    """Goes through the protocol, in a run that has ordinary runs inside.

    In its directory are `search/s0`, ...; `train/found-0`, ... and `train/random-0`, ... of stage 2;
    `final/found-s0`, ... and `final/random-s0`, ... of stage 3; and decisions.json. The same configuration
    gives the same result, whether it runs through or is killed and resumed, but for times; with
    `random: time` the number of random networks follows from times, and is decided once.

    Args:
        config: What to do.
        space: Searched in the place of the one that `config` names, if given.
        stack: Takes the cells in the place of the one that `config` names, if given.
        device: Where to compute.
        run: Where to write; must be there before `fit`.
        hooks: Of every search and every training.
        tell: Is told what is begun and decided.
        progress: Is told how far the loading of images is.

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
        tell: Tell = lambda _: None,
        progress: Progress | None = None,
    ) -> None:
        self.config, self.run, self.hooks, self.tell = config, run, tuple(hooks), tell
        self.device = torch.device(device)
        self.jobs = Jobs(config, gather(config, space, stack, progress), self.device)
        self.examples = self.jobs.rehearse()
        self._inner: Inner | None = None
        self._stopping = False

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True
        if self._inner is not None:
            self._inner.stop()

    def fit(self, *, fall_back: bool = False) -> ProtocolResult:
        """Goes through all stages, from where an earlier process left off.

        Args:
            fall_back: Whether an older checkpoint will do where the last is damaged.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DivergedError: If a search, a training of stage 3, or all of stage 2 diverged.
            RunError: If there is no run to write to.
        """
        if self.run is None:
            raise RunError("a protocol needs a run to write to: set `run` to Run.create(...)")
        inner = self._inner = Inner(self.run.path, self.device, self.hooks, fall_back)
        if self._stopping:  # it may have come before there was anything to tell
            inner.stop()
        try:
            with logged(self.run):
                stages = Stages(self.jobs, inner, Decisions(self.run.path), self.examples, self.tell)
                result = self._go(stages)
                self.run.finish(result.facts())
                return result
        finally:
            self._inner, self._stopping = None, False

    def _go(self, stages: Stages) -> ProtocolResult:
        stages.decisions.once(STACK, lambda: space_to_json(self.jobs.material.stack))
        searches, found = stages.search()
        choices = {FOUND: stages.choose(FOUND, found)}
        if self.config.random != "none":
            drawn = stages.draw(searches, choices[FOUND].trials)
            choices[RANDOM] = stages.choose(RANDOM, drawn)
        finals = {name: stages.retrain(name, choice.best) for name, choice in choices.items()}
        rows = [search_facts(run, found) for run in searches]
        spent = {FOUND: sum(row.seconds for row in rows), RANDOM: 0.0}
        arms = {name: self._arm(stages, own, finals[name], spent[name]) for name, own in choices.items()}
        return conclude(rows, arms, part=measured_on(finals[FOUND][0]), examples=self.examples)

    def _arm(self, stages: Stages, choice: Choice, finals: Sequence[Run], searching: float) -> Arm:
        trials = choice.trials
        rows = [network_facts(own, trials[own.name], stages.run_of(own)) for own in choice.networks]
        return arm(choice.best, rows, finals, searching)


def reopen(
    run: Run,
    *,
    device: torch.device | str = "cpu",
    hooks: Sequence[AnyHook] = (),
    tell: Tell = lambda _: None,
    progress: Progress | None = None,
) -> Protocol:
    """The protocol of a run that is there already, with the space and the stack that it has recorded.

    Args:
        run: To go on with.
        device: Where to compute.
        hooks: Of every search and every training.
        tell: Is told what is begun and decided.
        progress: Is told how far the loading of images is.
    """
    text = Decisions(run.path).get(STACK)
    return Protocol(
        PROTOCOL.validate(run.config),
        load_space(run.path / SPACE),
        None if text is None else space_from_json(text),
        device=device,
        run=run,
        hooks=hooks,
        tell=tell,
        progress=progress,
    )
