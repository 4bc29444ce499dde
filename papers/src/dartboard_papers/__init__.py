"""Figures and tables of the papers, redone: one file for each, set beside what the paper reports."""

from importlib import import_module
from pkgutil import iter_modules

from dartboard_papers.base import (
    PAPERS,
    REPRODUCTIONS,
    Finding,
    Reproduction,
    Row,
    Scale,
    Setting,
    Verdict,
    in_order,
    reproduction,
)
from dartboard_papers.record import Record, read_record

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")  # each file of a figure or a table registers it

__all__ = [
    "PAPERS",
    "REPRODUCTIONS",
    "Finding",
    "Record",
    "Reproduction",
    "Row",
    "Scale",
    "Setting",
    "Verdict",
    "in_order",
    "read_record",
    "reproduction",
]
