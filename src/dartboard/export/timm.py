"""A Python file that registers the network with timm, so that `timm.create_model` builds it."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dartboard.errors import ModelError
from dartboard.export.about import read_module
from dartboard.export.base import FORMATS, Format, Opened, Order, find_package
from dartboard.export.library import library
from dartboard.export.python import WEIGHTS, check_name, pack_weights, run_file
from dartboard.export.tables import WITH_TIMM
from dartboard.export.writing import USED, write_network
from dartboard.nn.network import NetConfig

REGISTRATION = '''default_cfgs = generate_default_cfgs(
    {{
        "{name}": {{
            "file": str(WEIGHTS),
            "num_classes": len(CLASSES),
            "label_names": CLASSES,
            "input_size": INPUT,
            "mean": UNIT_MEAN,
            "std": UNIT_DEVIATION,
            "crop_pct": CENTRE,
            "interpolation": "bilinear",
            "first_conv": {first},
            "classifier": "head",
        }}
    }}
)


@register_model
def {name}(pretrained: bool = False, **kwargs: Any) -> TimmNetwork:
    """The network as timm builds it, with the trained weights if it is asked for them."""
    return build_model_with_cfg(TimmNetwork, "{name}", pretrained, **kwargs)'''

FIRST = {"small": "stem.conv", "half": "stem.conv", "imagenet": "stem.first.0"}
"""The first convolution behind each stem."""


def pack(order: Order) -> dict[str, bytes]:
    """The model as a Python file that registers it, and a file of weights."""
    check_name(order.name)
    _check_free(order.name)
    wanted, more = (*USED, "TimmNetwork"), [_registration(order.model.net.config, order.name)]
    text = write_network(order.model, order.name, head=WITH_TIMM, wanted=wanted, more=more)
    return {WEIGHTS: pack_weights(order), ".py": text.encode()}


def _registration(config: NetConfig, name: str) -> str:
    """The code that registers the network; timm can turn 3 channels and 1 into others, no others."""
    first = f'"{FIRST[config.stem_name]}"' if config.input[0] in (1, 3) else "None"
    return REGISTRATION.format(name=name, first=first)


def _check_free(name: str) -> None:
    if name in library():
        raise ModelError(
            f"a network cannot be called {name!r}, as a part of its file is; choose another name"
        )
    timm = _timm()
    if timm.is_model(name) and timm.model_entrypoint(name).__module__.startswith("timm."):
        raise ModelError(f"timm has a model called {name!r} of its own; choose another name")


def load(path: Path, device: torch.device) -> Opened:
    """Runs a written file and lets timm build its network.

    Raises:
        ModelError: If timm is not there, or the file is none that was written here.
    """
    timm = _timm()
    module = run_file(path)
    net = timm.create_model(path.stem, pretrained=True).to(device).eval()

    def forward(images: Tensor) -> Tensor:
        logits: Tensor = net(images)
        return logits

    return Opened(forward, read_module(module))


def _timm() -> Any:
    return find_package("timm", "timm")


FORMATS.register("timm")(
    Format(".py", "a Python file that registers the network with timm", pack, load, (WEIGHTS,))
)
