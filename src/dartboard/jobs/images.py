"""The images that the runs of a sweep have in common: all of them must see the same.

A folder of pictures can change while a sweep is under way, or before it is run again. Whoever is the first to
use some images writes down what they are; runs that would see others under the same name are refused.
"""

import hashlib
import json
from pathlib import Path

from dartboard.data import Dataset
from dartboard.errors import DataError
from dartboard.jobs.job import Job
from dartboard.search.config import SOURCE
from dartboard.utils import atomic

FOLDER = "images"
"""In the sweep's; a file for each set of images, with what it is."""


def check_images(job: Job, data: Dataset) -> None:
    """Refuses images that are not those which other runs of the sweep saw.

    Args:
        job: Who is about to see them.
        data: What was loaded for it.

    Raises:
        DataError: If others were loaded before.
    """
    path = _place(job)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_first(path, data.fingerprint + "\n")
    if path.read_text(encoding="utf-8").strip() != data.fingerprint:
        name = job.config["data"]["name"]
        raise DataError(
            f"the images of {name} are not those that earlier runs of this sweep saw; name another directory "
            "with --out, or bring those back"
        )


def _place(job: Job) -> Path:
    """The file of the images that a job names; parts that must not be looked at are left out of them."""
    asked = {name: value for name, value in job.config["data"].items() if name in SOURCE}
    text = json.dumps({**asked, "test": job.test}, sort_keys=True, default=str)
    return Path(job.folder) / FOLDER / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
