"""Trained networks for the world outside: ONNX, TorchScript, PT2, plain Python and timm."""

from dartboard.export import onnx, pt2, python, timm, torchscript
from dartboard.export.about import About
from dartboard.export.base import FORMATS, Format, Opened
from dartboard.export.exporting import Exported, export_model, open_exported, verify

__all__ = [
    "FORMATS",
    "About",
    "Exported",
    "Format",
    "Opened",
    "export_model",
    "onnx",
    "open_exported",
    "pt2",
    "python",
    "timm",
    "torchscript",
    "verify",
]
