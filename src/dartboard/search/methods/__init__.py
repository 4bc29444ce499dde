"""The methods that ship with dartboard, each a short registered function that returns a composition.

Keyword arguments are options; their defaults are the papers'. See `Method` for what the parts are.
"""

# isort: off  # the order is that of `dartboard list methods`
from dartboard.search.methods.amended import amended_darts
from dartboard.search.methods.asm import asm
from dartboard.search.methods.darts import darts, darts_2nd
from dartboard.search.methods.evolution import evolution
from dartboard.search.methods.gaea import gaea_darts, gaea_darts_erm, gaea_gdas, gaea_pc_darts
from dartboard.search.methods.gdas import gdas
from dartboard.search.methods.pc_darts import pc_darts
from dartboard.search.methods.random_search import random, random_ws
from dartboard.search.methods.xnas import xnas

__all__ = [
    "amended_darts",
    "asm",
    "darts",
    "darts_2nd",
    "evolution",
    "gaea_darts",
    "gaea_darts_erm",
    "gaea_gdas",
    "gaea_pc_darts",
    "gdas",
    "pc_darts",
    "random",
    "random_ws",
    "xnas",
]
