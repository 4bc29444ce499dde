"""Processes that share a loop, as torchrun would start them."""

import os
import socket
import subprocess
import sys
from pathlib import Path

PATIENCE = 300
"""Processes that take so many seconds are stuck."""


def free_port() -> int:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return int(own.getsockname()[1])


def start_ranks(count: int, command: list[str], **how: object) -> list[subprocess.Popen[str]]:
    """So many processes of a command, each told which one it is."""
    port = str(free_port())
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(count)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen(
            command,
            env=os.environ | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"},
            **{**pipes, **how},
        )
        for rank in range(count)
    ]


def run_ranks(count: int, script: Path, *words: object) -> list[str]:
    """What each of so many processes of a script has printed; all must end well."""
    command = [sys.executable, "-W", "error", str(script), *map(str, words)]
    started = start_ranks(count, command)
    try:
        said = [process.communicate(timeout=PATIENCE) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, complaint) in zip(started, said, strict=True):
        assert process.returncode == 0, complaint
    return [words for words, _ in said]
