"""The top of a page: what the report is about and what came out, at a glance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dartboard.report.charts import curve_of, metric
from dartboard.report.report_runs import ProtocolRun, RunInfo, SearchRun, TrainRun
from dartboard.report.sections.base import ReportContext, count_noun, format_time, genotype_text, percent
from dartboard.utils.text import span


@dataclass(frozen=True)
class Tile:
    """A number worth seeing first, with its name above and a note below."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """The top of a page: what is reported on, the first sentence, and the most important numbers.

    State and duration are shown after the lead where there are any, `verdict` is the conclusion of a
    protocol. The genotype is None before the end of the first epoch; `has_genotype` says whether one is shown
    at all.
    """

    kind: str
    title: str
    lead: str
    state: str = ""
    duration: str = ""
    tiles: Sequence[Tile] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    verdict: str = ""
    has_genotype: bool = False
    genotype: str | None = None


def make_headline(context: ReportContext) -> Headline:
    """The top of a page about a protocol, a search, a training, or several runs."""
    runs = context.runs
    if len(runs.protocols) == 1:
        return _protocol_headline(runs.protocols[0])
    if context.single_search is not None:
        return _search_headline(context, context.single_search)
    if not context.searches and len(runs.trainings) == 1:
        return _training_headline(runs.trainings[0])
    return _comparison_headline(context)


def _short(name: object) -> str:
    """A name unchanged, a path by its stem."""
    return Path(str(name)).stem if "/" in str(name) else str(name)


def _duration(info: RunInfo, seconds: object) -> str:
    begun = f"begun {format_time(info.environments[0].get('time', ''))}"
    if not isinstance(seconds, int | float):
        return begun
    return f"{'in' if info.state == 'finished' else 'after'} {span(seconds)}, {begun}"


def _search_headline(context: ReportContext, search: SearchRun) -> Headline:
    return Headline(
        kind="Architecture search",
        title=f"{_short(search.space.name)} with {search.method} on {_short(search.data)}",
        lead=f"Seed {search.seed}, {count_noun(len(search.epochs), 'epoch')}.",
        state=search.info.state,
        duration=_duration(search.info, search.last.get("seconds")),
        tiles=_search_tiles(context, search),
        has_genotype=True,
        genotype=genotype_text(search.genotype),
    )


def _search_tiles(context: ReportContext, search: SearchRun) -> list[Tile]:
    mixed, discrete, entropy = (
        search.last.get(key) for key in ("valid_accuracy", "discrete_accuracy", "entropy")
    )
    tiles = [Tile("Supernet accuracy", percent(mixed), "on held-out images")] if mixed is not None else []
    if discrete is not None:
        note = _difference(discrete - mixed) if mixed is not None else "on held-out images"
        tiles.append(Tile("Cell alone", percent(discrete), note))
    if (rank := context.rank(search)) is not None:
        note = (
            f"{percent(rank.test, 2)} test accuracy on {rank.dataset}, the best has {percent(rank.best, 2)}"
        )
        tiles.append(Tile("Oracle rank", f"{rank.rank:,} of {rank.size:,}", note))
    trainings = context.comparable_trainings([search])
    if accuracies := [run.accuracy for run in trainings if run.accuracy is not None]:
        note = count_noun(len(accuracies), "training")
        tiles.append(Tile("Trained from scratch", percent(max(accuracies), 2), note))
    if entropy is not None:
        edges = [edge for _, cell in search.space.groups for edge in cell.edges]
        largest = [math.log(len(edge.ops)) for edge in edges if len(edge.ops) > 1]
        note = (
            f"of {sum(largest) / len(largest):.3f} when nothing is decided"
            if largest
            else "nothing to choose"
        )
        tiles.append(Tile("Entropy", f"{entropy:.3f}", note))
    return tiles


def _difference(difference: float) -> str:
    points = f"{abs(100 * difference):.1f}"
    if points == "0.0":
        return "the same as the supernet"
    return f"{'+' if difference > 0 else chr(0x2212)}{points} points against the supernet"


def _training_headline(training: TrainRun) -> Headline:
    data = _short(training.info.setting("data", "name"))
    result, tiles = training.result or {}, []
    for split, scores in (result.get("last") or {}).items():
        note = f"of {scores['examples']:,} images, at the end"
        tiles.append(Tile(f"{split.capitalize()} accuracy", percent(scores["top1"], 2), note))
    epochs, accuracies = curve_of(training.rows, metric(f"{training.split}_accuracy"))
    if accuracies:
        best = max(accuracies)
        note = f"on {training.split} images, after epoch {epochs[accuracies.index(best)]}"
        tiles.append(Tile("Best epoch", percent(best, 2), note))
    if "parameters" in result:
        tiles.append(Tile("Parameters", f"{result['parameters']:,}", "weights of the network"))
        tiles.append(Tile("FLOPs", f"{result['flops']:,}", "an image, two a multiply-add"))
    length = count_noun(len(training.rows), "epoch")
    return Headline(
        kind="Training",
        title=f"Training {training.info.name}",
        lead=f"A network of {training.space.name} cells on {data} images, seed {training.seed}, {length}.",
        state=training.info.state,
        duration=_duration(training.info, result.get("seconds")),
        tiles=tiles,
        has_genotype=True,
        genotype=genotype_text(training.genotype),
    )


def _protocol_headline(protocol: ProtocolRun) -> Headline:
    info, result = protocol.info, protocol.result
    method = info.setting("search", "method", "name")
    space, data = (_short(info.setting("search", key, "name")) for key in ("space", "data"))
    return Headline(
        kind="Protocol: search, choose, train with many seeds",
        title=f"Protocol {info.name}",
        lead=f"{method} on {space} with {data} images.",
        state=info.state,
        duration=_duration(info, None),
        verdict="" if result is None else str(result["verdict"]),
    )


def _comparison_headline(context: ReportContext) -> Headline:
    searches, trainings = context.searches, context.runs.trainings
    both: list[SearchRun | TrainRun] = [*searches, *trainings]
    facts = {
        "methods": ", ".join(dict.fromkeys(search.method for search in searches)),
        "space": ", ".join(dict.fromkeys(_short(run.space.name) for run in both)),
        "data": ", ".join(dict.fromkeys(_short(run.info.setting("data", "name")) for run in both)),
        "seeds": ", ".join(map(str, sorted({run.seed for run in searches or trainings}))),
    }
    running = sum(info.state == "running" for info in context.runs.infos)
    counts = ((len(searches), "search", "searches"), (len(trainings), "training", "trainings"))
    return Headline(
        kind="Comparison",
        title=" and ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count),
        lead=f"{count_noun(running, 'run')} still going on." if running else "All runs have ended.",
        facts={key: value for key, value in facts.items() if value},
    )
