"""Modules can be imported on other systems than Linux; what is of one system is asked for when it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

import dartboard

ELSEWHERE = """
import importlib, os, pkgutil, signal, sys
import torch.multiprocessing, torch.distributed, torch.utils.data, concurrent.futures.process
import matplotlib.figure, scipy.stats, pydantic, rich.live, networkx, plotly
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGCHLD", "pthread_sigmask"):
    delattr(signal, name)
for name in ("fork", "register_at_fork", "killpg", "setsid", "pread", "pwrite", "sched_getaffinity"):
    delattr(os, name)
import dartboard
skipped = ("ray", "slurm", "submitit")  # clusters, which run on Linux
for module in pkgutil.walk_packages(dartboard.__path__, "dartboard."):
    if not any(word in module.name for word in skipped):
        importlib.import_module(module.name)
"""


def test_no_module_needs_linux_to_be_imported() -> None:
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["fcntl", "resource", "msvcrt"])
def test_modules_of_one_system_are_imported_where_they_are_used(name: str) -> None:
    root = Path(dartboard.__file__).parent
    lines = [
        f"{path.relative_to(root)}: {line}"
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith((f"import {name}", f"from {name} "))
    ]
    assert lines == []
