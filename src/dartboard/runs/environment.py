"""The environment of a run: versions, machine, command line and source."""

import os
import platform
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

import dartboard
from dartboard.distributed import world_size
from dartboard.plugins import installed_packages

_SECONDS = 5  # that git may take


def describe_environment(device: str | None = None) -> dict[str, Any]:
    """Versions, machine, command line and source of this process, as plain values.

    Args:
        device: Device of the computation, if it is known.
    """
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(sys.argv),
        "dartboard": dartboard.__version__,
        "git": describe_source(Path(dartboard.__file__).parents[2]),
        "plugins": installed_packages(),
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "cpus": os.cpu_count(),
        "device": device,
        "threads": torch.get_num_threads(),
        "processes": world_size(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def describe_source(root: Path) -> dict[str, Any] | None:
    """Revision of a source tree and whether it has changes, or None without git."""
    if not (root / ".git").exists():  # else git would answer for a repository around it
        return None
    revision = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain")
    if revision is None or changes is None:
        return None
    return {"revision": revision, "dirty": bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    """Output of git, or None if it is missing, fails or takes too long."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "--no-optional-locks", "-C", str(root), *arguments]
    try:
        process = subprocess.run(  # noqa: S603  # nothing in it comes from outside
            command, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return process.stdout.strip()
