"""A Python file that registers the network with timm, so that `timm.create_model` builds it."""

from pathlib import Path

import torch

from dartboard.errors import ModelError
from dartboard.export.formats import FORMATS, ExportRequest, Format, LoadedNetwork, import_package
from dartboard.export.python import WEIGHTS, check_module_name, module_metadata, pack_weights, run_file
from dartboard.export.python_source import ENTRY_POINTS, blocks, write_source

DOCSTRING = """A trained network for timm; written by dartboard.

{about}

    import timm
    import {name}  # registers the network

    net = timm.create_model("{name}", pretrained=True)  # weights: {name}.safetensors, next to this file

Run it with the names of image files to print their classes.
"""
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
    """The network as timm builds it, with the trained weights if `pretrained`."""
    return build_model_with_cfg(TimmNetwork, "{name}", pretrained, **kwargs)'''

FIRST_CONV = {"small": "stem.conv", "half": "stem.conv", "imagenet": "stem.first.0"}
"""The first convolution of each stem."""


def pack(request: ExportRequest) -> dict[str, bytes]:
    """The model as a Python file that registers it, and a file of weights."""
    name, config = request.name, request.model.net.config
    check_module_name(name)
    if name in blocks():
        raise ModelError(
            f"a network cannot be called {name!r}, as a part of its file is; choose another name"
        )
    timm = import_package("timm", "timm")
    if timm.is_model(name) and timm.model_entrypoint(name).__module__.startswith("timm."):
        raise ModelError(f"timm has a model called {name!r} of its own; choose another name")
    # timm can convert the weights of 3 channels and of 1 to other channels, but no others.
    first_conv = f'"{FIRST_CONV.get(config.stem_name)}"' if config.input[0] in (1, 3) else "None"
    source = write_source(
        request.model,
        name,
        docstring=DOCSTRING,
        entry_points=(*ENTRY_POINTS, "TimmNetwork"),
        extra_code=[REGISTRATION.format(name=name, first=first_conv)],
    )
    return {WEIGHTS: pack_weights(request), ".py": source.encode()}


def load(path: Path, device: torch.device) -> LoadedNetwork:
    """Run an exported file and build its network with timm.

    Raises:
        ModelError: If timm is not installed, or the file is not an exported network.
    """
    timm = import_package("timm", "timm")
    module = run_file(path)
    net = timm.create_model(path.stem, pretrained=True).to(device).eval()
    return LoadedNetwork(net, module_metadata(module))


FORMATS.register("timm")(
    Format(".py", "a Python file that registers the network with timm", pack, load, (WEIGHTS,))
)
