"""From any of the official files of NAS-Bench-201 to the table that `nb201` reads."""

from pathlib import Path

from dartboard.tables.base import IMPORTS
from dartboard.tables.csv_table import write_columns
from dartboard.tables.nats_files import read_nats
from dartboard.tables.nb201 import CELL
from dartboard.tables.nb201_pickle import read_whole
from dartboard.utils.progress import Progress


@IMPORTS.register("nb201")
def import_nb201(source: Path, out: Path, tell: Progress) -> int:
    """The folder or one of the files that the authors of NAS-Bench-201 and NATS-Bench publish."""
    columns = read_nats(source, tell) if source.is_dir() else read_whole(source, tell)
    write_columns(out, columns)
    return len(columns[CELL])
