"""Differentiable neural architecture search: spaces as data, one network builder for search and training.

The names below are the ones most programs need. They are imported when they are first used, so that
`import dartboard` is quick and leaves torch alone.

Examples:
    >>> import dartboard
    >>> "nano" in dartboard.list_spaces()
    True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dartboard.arch.optim import ExpertAdvice, ExponentiatedGradient, MirrorDescent
    from dartboard.data import load_dataset, register_dataset
    from dartboard.errors import DartboardError
    from dartboard.export import export_model, register_export_format
    from dartboard.jobs.executors import register_executor
    from dartboard.nn import CellNet, NetConfig, register_op
    from dartboard.runs import load_run
    from dartboard.search import (
        Searcher,
        SearchResult,
        list_methods,
        make_method,
        register_method,
    )
    from dartboard.space import Genotype, SearchSpace, get_space, list_spaces, register_space
    from dartboard.tables import register_table
    from dartboard.train import Trainer, TrainResult, evaluate

_MODULES = {
    "dartboard.arch.optim": ("ExpertAdvice", "ExponentiatedGradient", "MirrorDescent"),
    "dartboard.data": ("load_dataset", "register_dataset"),
    "dartboard.errors": ("DartboardError",),
    "dartboard.export": ("export_model", "register_export_format"),
    "dartboard.jobs.executors": ("register_executor",),
    "dartboard.nn": ("CellNet", "NetConfig", "register_op"),
    "dartboard.runs": ("load_run",),
    "dartboard.search": ("SearchResult", "Searcher", "list_methods", "make_method", "register_method"),
    "dartboard.space": ("Genotype", "SearchSpace", "get_space", "list_spaces", "register_space"),
    "dartboard.tables": ("register_table",),
    "dartboard.train": ("TrainResult", "Trainer", "evaluate"),
}

__all__ = [
    "CellNet",
    "DartboardError",
    "ExpertAdvice",
    "ExponentiatedGradient",
    "Genotype",
    "MirrorDescent",
    "NetConfig",
    "SearchResult",
    "SearchSpace",
    "Searcher",
    "TrainResult",
    "Trainer",
    "evaluate",
    "export_model",
    "get_space",
    "list_methods",
    "list_spaces",
    "load_dataset",
    "load_run",
    "make_method",
    "register_dataset",
    "register_executor",
    "register_export_format",
    "register_method",
    "register_op",
    "register_space",
    "register_table",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version(__name__)
        except PackageNotFoundError:  # imported from a folder of sources
            return "unknown"
    for module, names in _MODULES.items():
        if name in names:
            globals()[name] = value = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
