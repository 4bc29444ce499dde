"""What was found out about a folder of images, remembered until one of its files changes."""

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dartboard.data.dataset import Moments, Shape
from dartboard.utils.atomic import write_text

LOG = logging.getLogger(__name__)
VERSION = 2
"""Of the file's form and of what is looked at; files of another form are left alone."""


@dataclass(frozen=True)
class Findings:
    """What is known of the image files in a folder.

    Args:
        classes: How many readable files each class has, by part and name.
        sizes: How many images there are of each width and height.
        grey: Whether no image has a colour.
        broken: Why each unreadable file is, by its path below the folder.
        moments: Mean and deviation of the training images, by the shape that they are brought to.
    """

    classes: Mapping[str, Mapping[str, int]]
    sizes: Mapping[tuple[int, int], int]
    grey: bool
    broken: Mapping[str, str]
    moments: Mapping[Shape, Moments] = field(default_factory=dict)


def cache_folder() -> Path:
    """Where findings are kept: $XDG_CACHE_HOME/dartboard, or ~/.cache/dartboard.

    Raises:
        RuntimeError: If nobody knows where the home is.
    """
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "dartboard"


def recall(folder: Path, fingerprint: str) -> Findings | None:
    """What is known of a folder, if its files are as they were then."""
    try:
        values = json.loads(_file(folder).read_bytes())
        if (values["version"], values["fingerprint"]) != (VERSION, fingerprint):
            return None
        return _findings(values)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        LOG.info("what is remembered of %s cannot be read and is left alone (%s)", folder, error)
        return None


def remember(folder: Path, fingerprint: str, findings: Findings) -> None:
    """Keep what was found; where that cannot be written it is found anew the next time."""
    try:
        file = _file(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(
            file, json.dumps({"version": VERSION, "fingerprint": fingerprint} | _values(folder, findings))
        )
    except (OSError, RuntimeError) as error:
        LOG.info("what was found in %s cannot be remembered (%s)", folder, error)


def _file(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.absolute()).encode(errors="surrogateescape")).hexdigest()[:32]
    return cache_folder() / "folders" / f"{name}.json"


def _values(folder: Path, findings: Findings) -> dict[str, Any]:
    return {
        "folder": str(folder.absolute()),
        "classes": findings.classes,
        "sizes": [[*size, count] for size, count in findings.sizes.items()],
        "grey": findings.grey,
        "broken": findings.broken,
        "moments": [[*shape, moments] for shape, moments in findings.moments.items()],
    }


def _findings(values: Any) -> Findings:
    """The findings in a file's values; whatever has another type than it should raises."""
    counts = {str(part): {str(k): int(v) for k, v in own.items()} for part, own in values["classes"].items()}
    sizes = Counter({(int(width), int(height)): int(count) for width, height, count in values["sizes"]})
    broken = {str(file): str(reason) for file, reason in values["broken"].items()}
    moments = {(int(c), int(h), int(w)): _moments(own, int(c)) for c, h, w, own in values["moments"]}
    return Findings(counts, sizes, bool(values["grey"]), broken, moments)


def _moments(values: Any, channels: int) -> Moments:
    found = tuple((float(mean), float(std)) for mean, std in values)
    if len(found) != channels or not all(std > 0 for _, std in found):
        raise ValueError(f"no moments of {channels} channels: {values}")
    return found
