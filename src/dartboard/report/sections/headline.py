"""What a report is about and what came out, to be read in ten seconds."""

import math
from pathlib import Path

from dartboard.report.html import Html, join, tag
from dartboard.report.models import Origin, ProtocolFound, SearchFound, TrainFound
from dartboard.report.sections.base import Context, copyable, facts, tile, tiles
from dartboard.report.words import counted, moment, percent
from dartboard.space import Genotype
from dartboard.utils.text import span

STATES = {
    "finished": "finished",
    "running": "running",
    "stopped": "stopped before its end; it can be resumed",
}


def headline(context: Context) -> Html:
    """The top of a page."""
    material = context.material
    if len(material.protocols) == 1:
        return _protocol(material.protocols[0])
    if context.alone is not None:
        return _search(context, context.alone)
    if not context.searches and len(material.trainings) == 1:
        return _training(material.trainings[0])
    return _comparison(context)


def title(context: Context) -> str:
    """What the page is called."""
    material, alone = context.material, context.alone
    if len(material.protocols) == 1:
        return f"Protocol {material.protocols[0].origin.name}"
    if alone is not None:
        return f"{short(alone.space.name)} with {alone.method} on {short(alone.data)}"
    if not context.searches and len(material.trainings) == 1:
        return f"Training {material.trainings[0].origin.name}"
    return _count(context)


def short(name: str) -> str:
    """A name as it is, a path by its last part."""
    return Path(name).stem if "/" in name else name


def _top(kind: str, name: str, lead: Html, *parts: Html) -> Html:
    return tag(
        "header", tag("p", kind, class_="kind"), tag("h1", name), tag("p", lead, class_="lead"), *parts
    )


def _state(origin: Origin, seconds: object) -> Html:
    words = STATES[origin.state]
    badge = tag("span", origin.state, class_=f"badge {origin.state}", title=words)
    begun = f"begun {moment(origin.starts[0].get('time', ''))}"
    if not isinstance(seconds, int | float):
        return join([badge, f" {begun}"])
    return join([badge, f" {'in' if origin.state == 'finished' else 'after'} {span(seconds)}, {begun}"])


def _search(context: Context, search: SearchFound) -> Html:
    origin, last = search.origin, search.last
    epochs = counted(len(search.moments), "epoch")
    lead = join([f"Seed {search.seed}, {epochs}. ", _state(origin, last.get("seconds"))])
    return _top(
        "Architecture search",
        title(context),
        lead,
        tiles(*_search_tiles(context, search)),
        genotype_text(search.genotype),
    )


def _search_tiles(context: Context, search: SearchFound) -> list[Html]:
    last = search.last
    mixed, alone, entropy = (last.get(key) for key in ("valid_accuracy", "discrete_accuracy", "entropy"))
    parts = [tile("Supernet accuracy", percent(mixed), "on held-out images")] if mixed is not None else []
    if alone is not None:
        note = _against(alone - mixed) if mixed is not None else "on held-out images"
        parts.append(tile("Cell alone", percent(alone), note))
    if (rank := context.rank(search)) is not None:
        note = (
            f"{percent(rank.test, 2)} test accuracy on {rank.dataset}, the best has {percent(rank.best, 2)}"
        )
        parts.append(tile("Oracle rank", f"{rank.rank:,} of {rank.size:,}", note))
    trained = [own for each in context.compared([search]) if (own := accuracy_of(each)) is not None]
    if trained:
        parts.append(
            tile("Trained from scratch", percent(max(trained), 2), counted(len(trained), "training"))
        )
    if entropy is not None:
        parts.append(tile("Entropy", f"{entropy:.3f}", _entropy_note(search)))
    return parts


def _entropy_note(search: SearchFound) -> str:
    sizes = [len(edge.ops) for _, cell in search.space.archs for edge in cell.edges if len(edge.ops) > 1]
    if not sizes:
        return "nothing to choose"
    largest = sum(map(math.log, sizes)) / len(sizes)
    return f"of {largest:.3f} when nothing is decided"


def _against(difference: float) -> str:
    points = f"{abs(100 * difference):.1f}"
    if points == "0.0":
        return "the same as the supernet"
    return f"{'+' if difference > 0 else chr(0x2212)}{points} points against the supernet"


def genotype_text(genotype: Genotype | None) -> Html:
    """A genotype as it is typed, with a button that copies it."""
    if genotype is None:
        return tag("p", "No epoch is over yet, so there is no cell to show.", class_="empty")
    from dartboard.scoreboard.scoring import shortest

    body = copyable(shortest(genotype), "the genotype")
    return tag("details", tag("summary", "Genotype as text"), body, id="genotype", class_="quiet")


def accuracy_of(training: TrainFound) -> float | None:
    """How good a trained network is: at the end where that is known, else after the last epoch measured."""
    last = (training.result or {}).get("last") or {}
    for part in ("test", "valid"):
        if part in last:
            return float(last[part]["top1"])
    curve = training.curve(f"{training.part}_accuracy")[1]
    return curve[-1] if curve else None


def _training(training: TrainFound) -> Html:
    origin, result = training.origin, training.result or {}
    data = short(str(origin.setting("data", "name")))
    epochs = counted(len(training.rows), "epoch")
    words = f"A network of {training.space.name} cells on {data} images, seed {training.seed}, {epochs}. "
    lead = join([words, _state(origin, result.get("seconds"))])
    return _top(
        "Training",
        f"Training {origin.name}",
        lead,
        tiles(*training_tiles(training)),
        genotype_text(training.genotype),
    )


def training_tiles(training: TrainFound) -> list[Html]:
    """What a training came to, at a glance."""
    result = training.result or {}
    parts = []
    for part, own in (result.get("last") or {}).items():
        note = f"of {own['examples']:,} images, at the end"
        parts.append(tile(f"{part.capitalize()} accuracy", percent(own["top1"], 2), note))
    accuracies = training.curve(f"{training.part}_accuracy")
    if accuracies[1]:
        best = max(accuracies[1])
        epoch = accuracies[0][accuracies[1].index(best)]
        parts.append(tile("Best epoch", percent(best, 2), f"on {training.part} images, after epoch {epoch}"))
    if "parameters" in result:
        parts.append(tile("Parameters", f"{result['parameters']:,}", "weights of the network"))
        parts.append(tile("FLOPs", f"{result['flops']:,}", "an image, two a multiply-add"))
    return parts


def _protocol(protocol: ProtocolFound) -> Html:
    origin, result = protocol.origin, protocol.result
    search = origin.setting("search", "method", "name")
    space, data = (origin.setting("search", key, "name") for key in ("space", "data"))
    lead = join([f"{search} on {short(str(space))} with {short(str(data))} images. ", _state(origin, None)])
    parts = [tag("p", str(result["verdict"]), class_="verdict")] if result is not None else []
    return _top("Protocol: search, choose, train with many seeds", f"Protocol {origin.name}", lead, *parts)


def _comparison(context: Context) -> Html:
    searches, trainings = context.searches, context.material.trainings
    both: list[SearchFound | TrainFound] = [*searches, *trainings]
    spaces = ", ".join(dict.fromkeys(short(own.space.name) for own in both))
    data = ", ".join(dict.fromkeys(short(str(own.origin.setting("data", "name"))) for own in both))
    methods = ", ".join(dict.fromkeys(own.method for own in searches))
    seeds = sorted({own.seed for own in searches or trainings})
    pairs = {"methods": methods, "space": spaces, "data": data, "seeds": ", ".join(map(str, seeds))}
    running = sum(own.state == "running" for own in context.material.origins)
    lead = f"{counted(running, 'run')} still going on." if running else "All runs have ended."
    return _top(
        "Comparison",
        _count(context),
        join([lead]),
        facts({key: value for key, value in pairs.items() if value}),
    )


def _count(context: Context) -> str:
    counts = (
        (len(context.searches), "search", "searches"),
        (len(context.material.trainings), "training", "trainings"),
    )
    words = [f"{count} {one if count == 1 else many}" for count, one, many in counts if count]
    return " and ".join(words)
