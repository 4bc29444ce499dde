"""ONNX, written by torch's exporter and run by onnxruntime."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dartboard.errors import ModelError, one_line
from dartboard.export.about import about, read_about
from dartboard.export.base import FORMATS, Format, Logits, Opened, Order, example, find_package

OPSETS = (18, 23)
"""The first and the last version of the operators that are tried."""


def pack(order: Order) -> dict[str, bytes]:
    """The model as ONNX, with a batch axis of any length."""
    for package in ("onnx", "onnxscript"):
        find_package(package, "export")
    if order.opset is not None and not OPSETS[0] <= order.opset <= OPSETS[1]:
        raise ModelError(f"ONNX is written with opset {OPSETS[0]} to {OPSETS[1]}, not {order.opset}")
    proto = _export(order)
    for name, text in about(order.model).texts().items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = name, text
    proto.graph.name = order.name
    return {".onnx": proto.SerializeToString()}


def _export(order: Order) -> Any:
    images = example(order.model)
    with _quiet():
        program = torch.onnx.export(
            Logits(order.model),
            (images,),
            input_names=["images"],
            output_names=["logits"],
            opset_version=order.opset,
            dynamic_shapes={"images": {0: torch.export.Dim("batch")}},
            dynamo=True,
            verbose=False,
        )
    if program is None:
        raise ModelError("torch's exporter gave no network")
    return program.model_proto


def load(path: Path, device: torch.device) -> Opened:
    """Opens a file with onnxruntime.

    Raises:
        ModelError: If onnxruntime is not there or cannot read it.
    """
    runtime = find_package("onnxruntime", "export")
    wanted = ["CUDAExecutionProvider"] if device.type == "cuda" else []
    have = runtime.get_available_providers()
    providers = [name for name in wanted if name in have] + ["CPUExecutionProvider"]
    try:
        session = runtime.InferenceSession(path.read_bytes(), providers=providers)
    except Exception as error:  # noqa: BLE001  onnxruntime's errors have no root of their own
        reason = one_line(error)
        raise ModelError(f"{path}: not a network that onnxruntime can run ({reason})") from None
    texts = session.get_modelmeta().custom_metadata_map

    def forward(images: Tensor) -> Tensor:
        try:
            (entry,) = session.get_inputs()
            (logits,) = session.run(None, {entry.name: images.cpu().numpy()})
        except Exception as error:  # noqa: BLE001  onnxruntime's errors have no root of their own
            reason = one_line(error)
            raise ModelError(f"{path}: onnxruntime cannot run it ({reason})") from None
        return torch.from_numpy(logits).to(images.device)

    return Opened(forward, read_about(_parsed(texts)))


def _parsed(texts: dict[str, str]) -> dict[str, Any]:
    found = {}
    for name, text in texts.items():
        try:
            found[name] = json.loads(text)
        except ValueError:
            continue  # other programs put texts of their own here
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps what the exporter says about itself from the user."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


FORMATS.register("onnx")(Format(".onnx", "ONNX, for onnxruntime and other programs", pack, load))
