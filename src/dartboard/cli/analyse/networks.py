"""From what stands on the command line to a trained network and images to look at it with."""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dartboard.cli.arguments import UsageError

if TYPE_CHECKING:
    from dartboard.data import Images, ImageSet
    from dartboard.nn import Model

PARTS = ("test", "valid", "train")


@dataclass(frozen=True, eq=False)
class Network:
    """A trained network with images.

    Args:
        model: The network.
        images: To look at it with, with the network's own numbers of the classes.
        train: Training images, likewise; few of them.
        words: What the images are.
    """

    model: "Model"
    images: "ImageSet"
    train: "ImageSet"
    words: str


def add_network_flags(parser: ArgumentParser) -> None:
    """Declare which network of a run is meant, and which images."""
    add = parser.add_argument
    add("--which", choices=("best", "last"), help="which network of a run (default: best)")
    add("--data", metavar="D", help="images (default: those that the network was trained on)")
    add("--part", choices=PARTS, help="which of them (default: the first of these that there are)")


def is_trained(text: str) -> bool:
    """Whether a text names a trained network: a model's file, or the run of a training."""
    from dartboard.nn.model_file import MODEL_KIND

    try:
        path = Path(text)
        if not path.is_dir():
            return path.suffix == MODEL_KIND
    except OSError:  # a genotype can be too long for a file name
        return False
    from dartboard.cli.models import WHICH
    from dartboard.runs import Run, is_run

    kind = Run.read(path).config.get("kind", "search") if is_run(path) else None
    return kind == "train" or any((path / file).is_file() for file in WHICH.values())


def open_network(
    text: str, args: Namespace, *, examples: int, which: str | None = None, fresh: int = 1
) -> Network:
    """The trained network that is meant, with as many images as are asked for.

    Args:
        text: A model's file or the directory of a training.
        args: What was typed: `data` and `part`.
        examples: Images to look at it with, at the most.
        which: `best` or `last`, of a run; None for the best.
        fresh: Training images, at the most.

    Raises:
        DartboardError: If there is no such network, or no images that fit it.
    """
    from dartboard.cli.measuring import choose_images, load_images
    from dartboard.cli.models import find_model
    from dartboard.export.about import about

    model = find_model(text, which).model
    name = args.data or model.facts.get("data")
    if not isinstance(name, str):
        raise UsageError(f"{text} does not say what it was trained on; name images with --data")
    data = load_images(name, about(model))
    chosen = choose_images(data, args.part)
    images = _fitted(chosen.images, examples, data.classes, model.classes)
    train = _fitted(data.train, fresh, data.classes, model.classes)
    words = f"{len(images):,} of {chosen}"
    return Network(model, images, train, words)


def _fitted(images: "Images", most: int, classes: tuple[str, ...], wanted: tuple[str, ...]) -> "ImageSet":
    """At most so many images in memory, with the numbers that a network has for their classes."""
    from dartboard.cli.measuring import places
    from dartboard.data import ImageSet

    few = images.spread(most).load()
    return ImageSet(few.images, places(classes, wanted)[few.labels])
