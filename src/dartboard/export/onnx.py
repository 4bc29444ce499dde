"""ONNX, written by torch's exporter and run by onnxruntime."""

import json
import logging
import warnings
from pathlib import Path

import torch
from torch import Tensor

from dartboard.errors import ModelError, one_line
from dartboard.export.formats import (
    FORMATS,
    ExportRequest,
    Format,
    InferenceNetwork,
    LoadedNetwork,
    Metadata,
    example_images,
    import_package,
    model_metadata,
)
from dartboard.utils.safe_files import WEIGHTS_LIMIT, read_file

OPSETS = (18, 23)
"""The oldest and the newest version of the operators that are tested."""


def pack(request: ExportRequest) -> dict[str, bytes]:
    """The model as ONNX, with a batch axis of any length."""
    for package in ("onnx", "onnxscript"):
        import_package(package, "export")
    if request.opset is not None and not OPSETS[0] <= request.opset <= OPSETS[1]:
        raise ModelError(f"ONNX is written with opset {OPSETS[0]} to {OPSETS[1]}, not {request.opset}")
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)  # the exporter's messages about itself
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(
                InferenceNetwork(request.model),
                (example_images(request.model),),
                input_names=["images"],
                output_names=["logits"],
                opset_version=request.opset,
                dynamic_shapes={"images": {0: torch.export.Dim("batch")}},
                dynamo=True,
                verbose=False,
            )
    finally:
        logger.setLevel(level)
    if program is None:
        raise ModelError("torch's exporter gave no network")
    proto = program.model_proto
    for key, value in model_metadata(request.model).to_dict().items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = key, json.dumps(value)
    proto.graph.name = request.name
    return {".onnx": proto.SerializeToString()}


def load(path: Path, device: torch.device) -> LoadedNetwork:
    """A network that onnxruntime runs, and the metadata stored with it.

    Raises:
        ModelError: If onnxruntime is not installed or cannot read it.
    """
    runtime = import_package("onnxruntime", "export")
    preferred = ["CUDAExecutionProvider"] if device.type == "cuda" else []
    available = runtime.get_available_providers()
    providers = [name for name in preferred if name in available] + ["CPUExecutionProvider"]
    program = read_file(path, limit=WEIGHTS_LIMIT)
    try:
        session = runtime.InferenceSession(program, providers=providers)
    except Exception as error:  # noqa: BLE001  onnxruntime's errors have no root of their own
        reason = one_line(error)
        raise ModelError(f"{path}: not a network that onnxruntime can run ({reason})") from None

    def forward(images: Tensor) -> Tensor:
        try:
            (entry,) = session.get_inputs()
            (logits,) = session.run(None, {entry.name: images.cpu().numpy()})
        except Exception as error:  # noqa: BLE001  onnxruntime's errors have no root of their own
            reason = one_line(error)
            raise ModelError(f"{path}: onnxruntime cannot run it ({reason})") from None
        return torch.from_numpy(logits).to(images.device)

    values = {}
    for key, text in session.get_modelmeta().custom_metadata_map.items():
        try:
            values[key] = json.loads(text)
        except ValueError:
            continue  # other programs put other texts here
    return LoadedNetwork(forward, Metadata.from_dict(values))


FORMATS.register("onnx")(
    Format(".onnx", "ONNX, for onnxruntime and other programs", pack, load, has_opset=True)
)
