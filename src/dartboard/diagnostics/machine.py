"""Versions and devices of this machine, for reports of what goes wrong on it."""

import platform
from pathlib import Path

import torch

import dartboard
from dartboard.utils.text import plural

NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


def describe_machine(device: torch.device) -> dict[str, str]:
    """Versions of dartboard, Python, torch and what runs the device, and the device's name; by label."""
    facts = {
        "dartboard": dartboard.__version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "system": platform.platform(),
        "device": f"{device}: {device_name(device)}",
    }
    if device.type == "cuda":
        facts |= {
            "CUDA": torch.version.cuda or f"ROCm {torch.version.hip}",
            "cuDNN": str(torch.backends.cudnn.version()),
            "driver": nvidia_driver(),
            "GPUs": str(torch.cuda.device_count()),
        }
    return facts


def device_name(device: torch.device) -> str:
    """What the device is called by its maker."""
    if device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(device)
        return f"{torch.cuda.get_device_name(device)}, compute capability {major}.{minor}"
    processor = platform.processor() or platform.machine()
    return f"{processor}, {plural(torch.get_num_threads(), 'thread')}"


def nvidia_driver() -> str:
    """The version of the NVIDIA driver; `unknown` where the system does not tell it."""
    try:
        first = NVIDIA_DRIVER.read_text().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"
    return next((word for word in first.split() if word[0].isdigit() and "." in word), "unknown")
