"""Images for a trained network, loaded with a progress bar."""

import sys

from dartboard.cli.progress import progress
from dartboard.data import Dataset
from dartboard.export import Metadata
from dartboard.train.evaluation import load_for_network


def load_images(name: str, metadata: Metadata) -> Dataset:
    """A data set with images of the size that a network takes; prints how many files cannot be read.

    Raises:
        DataError: If there is no such data set, or its images do not have the shape that the network takes.
    """
    broken: dict[str, str] = {}
    with progress() as report_progress:
        data = load_for_network(name, metadata, progress=report_progress, on_broken=broken.__setitem__)
    if broken:
        notice = f"{len(broken):,} files that cannot be read are left out; see dartboard data show {name}"
        print(f"dartboard: {notice}", file=sys.stderr)
    return data
