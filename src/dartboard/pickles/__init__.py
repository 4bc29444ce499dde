"""Pickles read without Python's reader, which calls what a file names: plain values, and nothing is run."""

from dartboard.pickles.machine import Allowed, Refused, Trim
from dartboard.pickles.reading import NO_ROOM, read_arrays, read_pickle

__all__ = ["NO_ROOM", "Allowed", "Refused", "Trim", "read_arrays", "read_pickle"]
