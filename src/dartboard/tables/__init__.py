"""Benchmark tables as ground truth: how well an architecture does, looked up instead of trained."""

from dartboard.tables.base import (
    IMPORTS,
    SHIPPED,
    TABLES,
    Ranking,
    Record,
    Standing,
    SupportsIsomorphic,
    Table,
    load_table,
    register_table,
)
from dartboard.tables.nano import NanoBench, load_nano
from dartboard.tables.nb101 import NasBench101, load_nb101
from dartboard.tables.nb101_import import import_tfrecord
from dartboard.tables.nb201 import NasBench201, load_nb201
from dartboard.tables.nb201_import import import_nb201
from dartboard.tables.oneshot import NasBench1Shot1, load_oneshot1, load_oneshot2, load_oneshot3

__all__ = [
    "IMPORTS",
    "SHIPPED",
    "TABLES",
    "NanoBench",
    "NasBench1Shot1",
    "NasBench101",
    "NasBench201",
    "Ranking",
    "Record",
    "Standing",
    "SupportsIsomorphic",
    "Table",
    "import_nb201",
    "import_tfrecord",
    "load_nano",
    "load_nb101",
    "load_nb201",
    "load_oneshot1",
    "load_oneshot2",
    "load_oneshot3",
    "load_table",
    "register_table",
]
