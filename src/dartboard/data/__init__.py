"""Images to search and train on."""

from dartboard.data.digits import BRIGHTEST, Digits, load_digits

__all__ = ["BRIGHTEST", "Digits", "load_digits"]
