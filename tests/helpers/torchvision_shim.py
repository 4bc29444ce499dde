"""Makes torchvision importable where its compiled operators do not fit the torch that is installed.

Importing torchvision gives some of its operators a shape rule, and that fails where they are missing. Nothing
in the tests calls them, so it is enough that they exist.
"""

import importlib.util

import torch

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_LIBRARIES: list[torch.library.Library] = []  # an operator lasts as long as its library


def torchvision_available() -> bool:
    """Whether torchvision is installed; if it is, it can be imported from now on."""
    if importlib.util.find_spec("torchvision") is None:
        return False
    if not _LIBRARIES and not _imports():
        _LIBRARIES.append(torch.library.Library("torchvision", "FRAGMENT"))
        for operator in _OPERATORS:
            _LIBRARIES[0].define(operator)
    return True


def _imports() -> bool:
    try:
        importlib.import_module("torchvision")
    except RuntimeError:  # "operator torchvision::nms does not exist"
        return False
    return True
