"""Where data sets that have a name are looked for."""

import os
from pathlib import Path

from dartboard.errors import DataError

VARIABLE = "DARTBOARD_DATASETS"


def data_root(root: Path | None = None) -> Path:
    """The folder in which each data set has a folder of its name.

    That is `root` if there is one, else $DARTBOARD_DATASETS, else $XDG_DATA_HOME/dartboard, else
    ~/.local/share/dartboard.
    """
    if root is not None:
        return root.expanduser()
    if given := os.environ.get(VARIABLE):
        return Path(given).expanduser()
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else _home() / ".local" / "share") / "dartboard"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise DataError(f"nobody knows where the home folder is; set {VARIABLE}") from None
