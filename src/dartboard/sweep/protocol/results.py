"""Results of a protocol: every search, every network, every seed, and whether search beat random."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dartboard.runs import Run
from dartboard.sweep.protocol.plan import FOUND, RANDOM, Selection
from dartboard.train.build import TEST, VALID
from dartboard.utils.statistics import Difference, Summary, compare, summarize


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
        accuracy: Accuracy at the end; None for one that was dropped.
        dropped: Reason for which it was dropped; None for one that was not.
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


def conclude(
    searches: Sequence[Run],
    selections: Mapping[str, Selection],
    finals: Mapping[str, Sequence[Run]],
    examples: int,
) -> ProtocolResult:
    """The result of a protocol, with the comparison of its arms.

    Args:
        searches: The runs of stage 1.
        selections: Results of stage 2, by arm.
        finals: The runs of stage 3, by arm.
        examples: Number of images by which networks were selected.
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


def _conclude_arm(selection: Selection, finals: Sequence[Run], part: str, search_seconds: float) -> Arm:
    """Results of one arm, for which so many seconds of stage 1 were spent."""
    networks = []
    for cell in selection.cells:
        run, trial = Run.read(finals[0].path.parents[1] / "train" / cell.name), selection.trials[cell.name]
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


def _name(run: Run) -> str:
    """Its directory inside the protocol's."""
    return "/".join(run.path.parts[-2:])
