"""Searching: methods as compositions, and the loop that runs them."""

from dartboard.engine.config import SCHEDULES, ScheduleLengths
from dartboard.search import methods
from dartboard.search.config import SearchOptions
from dartboard.search.hooks import Exploration, Hook, Temperature, Wipeout
from dartboard.search.method import METHODS, Method, list_methods, make_method, register_method
from dartboard.search.record import EpochRecord, SearchResult
from dartboard.search.searcher import Searcher
from dartboard.search.select import BestOfSamples, CellByCell, DrawOne, Evolve, FromStrengths, Selector

__all__ = [
    "METHODS",
    "SCHEDULES",
    "BestOfSamples",
    "CellByCell",
    "DrawOne",
    "EpochRecord",
    "Evolve",
    "Exploration",
    "FromStrengths",
    "Hook",
    "Method",
    "ScheduleLengths",
    "SearchOptions",
    "SearchResult",
    "Searcher",
    "Selector",
    "Temperature",
    "Wipeout",
    "list_methods",
    "make_method",
    "methods",
    "register_method",
]
