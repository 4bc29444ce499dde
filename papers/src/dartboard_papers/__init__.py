"""Reproductions of figures and tables of papers, one module each, beside what the paper reports."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dartboard_papers.base import (
        PAPERS,
        REPRODUCTIONS,
        PartResult,
        Reproduction,
        ReproductionResult,
        Row,
        RunOptions,
        Scale,
        Verdict,
        in_order,
        reproduction,
    )
    from dartboard_papers.record import ReproductionRecord, read_record

__all__ = [
    "PAPERS",
    "REPRODUCTIONS",
    "PartResult",
    "Reproduction",
    "ReproductionRecord",
    "ReproductionResult",
    "Row",
    "RunOptions",
    "Scale",
    "Verdict",
    "in_order",
    "read_record",
    "reproduction",
]


def __getattr__(name: str) -> Any:
    """A public name; the first one imports the modules of all figures and tables, which register themselves.

    Commands are modules of this package too, and quick to import as long as nothing here is used.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in sorted(module.name for module in iter_modules(__path__)):
        import_module(f"{__name__}.{module}")
    for module in ("base", "record"):
        public = vars(import_module(f"{__name__}.{module}"))
        globals().update({key: public[key] for key in __all__ if key in public})
    return globals()[name]
