"""Trained networks for other programs: ONNX, TorchScript, PT2, plain Python and timm.

Every module in this package registers its format when the package is imported.
"""

from importlib import import_module
from pkgutil import iter_modules

from dartboard.export.formats import (
    FORMATS,
    ExportRequest,
    Format,
    LoadedNetwork,
    Metadata,
    model_metadata,
    register_export_format,
)
from dartboard.export.models import Exported, export_model, noise_images, open_exported, verify

for _module in iter_modules(__path__):
    if not _module.ispkg:
        import_module(f"{__name__}.{_module.name}")

__all__ = [
    "FORMATS",
    "ExportRequest",
    "Exported",
    "Format",
    "LoadedNetwork",
    "Metadata",
    "export_model",
    "model_metadata",
    "noise_images",
    "open_exported",
    "register_export_format",
    "verify",
]
