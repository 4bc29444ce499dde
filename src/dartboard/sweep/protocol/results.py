"""What a protocol came to: every search, every network, every seed, and whether searching was worth it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dartboard.runs import Run
from dartboard.sweep.protocol.networks import FOUND, RANDOM, Candidate, Trial
from dartboard.train.build import TEST, VALID
from dartboard.utils.statistics import Difference, Summary, compare, summarize, verdict


@dataclass(frozen=True)
class SearchFacts:
    """A search of stage 1.

    Args:
        run: Its directory inside the protocol's.
        seed: Where its chance started.
        network: The name of what it found; equal genotypes have one.
        genotype: The cells it found, as plain values.
        valid_accuracy: Of the supernet on held-out images; None if nothing was trained.
        discrete_accuracy: Of the supernet with the chosen ops alone; None if nothing was trained.
        seconds: How long it took.
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
        seeds: Those of the searches that found it.
        short_accuracy: On held-out images after the short training; None if there was none.
        accuracy: At the end; None for one that was dropped.
        dropped: Why it was dropped, in words; None for one that was not.
        seconds: How long it was trained.
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
        seed: Where its chance started.
        accuracy: Of the last epoch.
        seconds: How long it took.
    """

    run: str
    seed: int
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Arm:
    """What networks of one origin came to.

    Args:
        networks: Those of stage 2.
        best: The name of the one that was trained in stage 3.
        genotype: Its cells, as plain values.
        finals: The trainings of stage 3.
        summary: Mean and deviation of their accuracies.
        parameters: Of the best network.
        flops: Of the best network, for one image, two a multiply-add.
        seconds: What was spent, by stage: `search`, `choose`, `final`, and `total`.
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
    """What a protocol came to.

    Args:
        searches: Stage 1.
        arms: Stages 2 and 3: `found`, and `random` unless there were no random architectures.
        measured_on: What the accuracies of stage 3 are of: `test` images, or `valid` where there are none.
        examples: How many images networks were chosen with in stage 2.
        difference: By how much the found network is above the random one; None without a random one.
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


def search_facts(run: Run, networks: Sequence[Candidate]) -> SearchFacts:
    """What a search says of itself."""
    result, seed = run.result() or {}, run.config["seed"]
    return SearchFacts(
        run=_name(run),
        seed=seed,
        network=next(own.name for own in networks if seed in own.seeds),
        genotype=result["genotype"],
        valid_accuracy=result["valid_accuracy"],
        discrete_accuracy=result["discrete_accuracy"],
        seconds=result["seconds"],
    )


def network_facts(network: Candidate, trial: Trial, run: Run) -> NetworkFacts:
    """What became of a network in stage 2."""
    rows = run.metrics()
    trained = (run.result() or {}).get("seconds") or (rows[-1]["seconds"] if rows else 0.0)
    return NetworkFacts(
        run=_name(run),
        genotype=network.genotype,
        seeds=network.seeds,
        short_accuracy=trial.short,
        accuracy=trial.accuracy,
        dropped=trial.dropped,
        seconds=trained,
    )


def arm(best: Candidate, networks: Sequence[NetworkFacts], finals: Sequence[Run], searching: float) -> Arm:
    """What networks of one origin came to.

    Args:
        best: The one that was trained in stage 3.
        networks: Those of stage 2.
        finals: The runs of stage 3.
        searching: The seconds of stage 1 that were spent on them.
    """
    rows, first = tuple(map(_final_facts, finals)), finals[0].result() or {}
    seconds = {
        "search": searching,
        "choose": sum(own.seconds for own in networks),
        "final": sum(own.seconds for own in rows),
    }
    return Arm(
        networks=tuple(networks),
        best=best.name,
        genotype=best.genotype,
        finals=rows,
        summary=summarize([own.accuracy for own in rows]),
        parameters=first["parameters"],
        flops=first["flops"],
        seconds=seconds | {"total": sum(seconds.values())},
    )


def _final_facts(run: Run) -> FinalFacts:
    result = run.result() or {}
    accuracy = result["last"][measured_on(run)]["top1"]
    return FinalFacts(_name(run), run.config["seed"], accuracy, result["seconds"])


def measured_on(run: Run) -> str:
    """What the accuracy of a training of stage 3 is of: test images where there are any."""
    return TEST if TEST in (run.result() or {})["last"] else VALID


def conclude(
    searches: Sequence[SearchFacts], arms: Mapping[str, Arm], *, part: str, examples: int
) -> ProtocolResult:
    """The comparison of the two arms, with all that led to it.

    Args:
        searches: Stage 1.
        arms: One or both.
        part: What the accuracies of stage 3 are of.
        examples: How many images networks were chosen with.
    """
    difference = None
    words = "No random architectures were trained to compare with."
    if RANDOM in arms:
        ours, others = ([own.accuracy for own in arms[name].finals] for name in (FOUND, RANDOM))
        difference = compare(ours, others)
        words = verdict(difference)
    return ProtocolResult(tuple(searches), arms, part, examples, difference, words)


def _name(run: Run) -> str:
    """Its directory inside the protocol's."""
    return "/".join(run.path.parts[-2:])
