"""Results of a protocol: every search, every network, every seed, and whether search beat random."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dartboard.runs import Run
from dartboard.sweep.protocol.jobs import FOUND, RANDOM, Candidate, Trial
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
        discrete_accuracy: The same with the selected ops alone; None if nothing was trained.
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
class CandidateFacts:
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
    """A training of stage 3.

    Args:
        run: Its directory inside the protocol's.
        seed: Its random seed.
        accuracy: Accuracy after the last epoch.
        seconds: Its duration.
    """

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

    networks: tuple[CandidateFacts, ...]
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


def search_facts(run: Run, candidates: Sequence[Candidate]) -> SearchFacts:
    """Results of a search."""
    result, seed = run.result() or {}, run.config["seed"]
    return SearchFacts(
        run=_name(run),
        seed=seed,
        network=next(candidate.name for candidate in candidates if seed in candidate.seeds),
        genotype=result["genotype"],
        valid_accuracy=result["valid_accuracy"],
        discrete_accuracy=result["discrete_accuracy"],
        seconds=result["seconds"],
    )


def candidate_facts(candidate: Candidate, trial: Trial, run: Run) -> CandidateFacts:
    """Results of a network in stage 2."""
    rows = run.metrics()
    seconds = (run.result() or {}).get("seconds") or (rows[-1]["seconds"] if rows else 0.0)
    return CandidateFacts(
        run=_name(run),
        genotype=candidate.genotype,
        seeds=candidate.seeds,
        short_accuracy=trial.short,
        accuracy=trial.accuracy,
        dropped=trial.dropped,
        seconds=seconds,
    )


def arm(
    best: Candidate, networks: Sequence[CandidateFacts], finals: Sequence[Run], search_seconds: float
) -> Arm:
    """Results of one arm.

    Args:
        best: The network that was trained in stage 3.
        networks: The networks of stage 2.
        finals: The runs of stage 3.
        search_seconds: Seconds of stage 1 that were spent on them.
    """
    rows, first = tuple(map(_final_facts, finals)), finals[0].result() or {}
    seconds = {
        "search": search_seconds,
        "choose": sum(network.seconds for network in networks),
        "final": sum(row.seconds for row in rows),
    }
    return Arm(
        networks=tuple(networks),
        best=best.name,
        genotype=best.genotype,
        finals=rows,
        summary=summarize([row.accuracy for row in rows]),
        parameters=first["parameters"],
        flops=first["flops"],
        seconds=seconds | {"total": sum(seconds.values())},
    )


def _final_facts(run: Run) -> FinalFacts:
    result = run.result() or {}
    accuracy = result["last"][measured_on(run)]["top1"]
    return FinalFacts(_name(run), run.config["seed"], accuracy, result["seconds"])


def measured_on(run: Run) -> str:
    """Part that a training of stage 3 is measured on: `test` if there is one, else `valid`."""
    return TEST if TEST in (run.result() or {})["last"] else VALID


def conclude(
    searches: Sequence[SearchFacts], arms: Mapping[str, Arm], *, part: str, examples: int
) -> ProtocolResult:
    """The result of a protocol, with the comparison of its arms.

    Args:
        searches: The searches of stage 1.
        arms: One or both arms.
        part: Part that stage 3 is measured on.
        examples: Number of images by which networks were selected.
    """
    difference = None
    sentence = "No random architectures were trained to compare with."
    if RANDOM in arms:
        found, random = ([final.accuracy for final in arms[name].finals] for name in (FOUND, RANDOM))
        difference = compare(found, random)
        sentence = verdict(difference)
    return ProtocolResult(tuple(searches), arms, part, examples, difference, sentence)


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
