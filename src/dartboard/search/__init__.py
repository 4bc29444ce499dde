"""Searching: methods as compositions, and the loop that runs them."""

from dartboard.engine.schedule import SCHEDULES, Plan
from dartboard.search import methods
from dartboard.search.config import SearchOptions
from dartboard.search.hooks import Hook, Temperature, Wipeout
from dartboard.search.method import METHODS, Method, make_method
from dartboard.search.record import Record, Result
from dartboard.search.searcher import Searcher
from dartboard.search.select import BestOfSamples, CellByCell, DrawOne, Evolve, FromStrengths, Selector

__all__ = [
    "METHODS",
    "SCHEDULES",
    "BestOfSamples",
    "CellByCell",
    "DrawOne",
    "Evolve",
    "FromStrengths",
    "Hook",
    "Method",
    "Plan",
    "Record",
    "Result",
    "SearchOptions",
    "Searcher",
    "Selector",
    "Temperature",
    "Wipeout",
    "make_method",
    "methods",
]
