"""The program in a terminal of its own."""

import os
import pty
import re
import select
import subprocess
from collections.abc import Mapping
from pathlib import Path

NOT_INHERITED = ("NO_COLOR", "FORCE_COLOR", "JPY_PARENT_PID", "MPLBACKEND")
"""Variables that change what is shown, and that tests set themselves."""


def environment(**variables: str) -> dict[str, str]:
    """The environment of the tests with these variables, and none of those that change what is shown."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return inherited | {"PYTHONUTF8": "1"} | variables


def run_in_terminal(
    program: Path,
    folder: Path,
    *args: str,
    stream: str = "stdout",
    size: tuple[int, int] = (100, 40),
    variables: Mapping[str, str] | None = None,
    raw: bool = False,
) -> tuple[str, bytes]:
    """What a command writes to a terminal on one stream, without colors unless `raw`, and to a pipe."""
    main, side = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: side}
    columns, lines = map(str, size)
    env = environment(**{"TERM": "xterm-256color", "COLUMNS": columns, "LINES": lines, **(variables or {})})
    process = subprocess.Popen([program, *args], cwd=folder, env=env, **streams)  # type: ignore[call-overload]
    os.close(side)
    seen = b""
    while process.poll() is None or select.select([main], [], [], 0)[0]:
        if select.select([main], [], [], 0.1)[0]:
            try:
                seen += os.read(main, 1 << 16)
            except OSError:  # the other side is closed
                break
    os.close(main)
    other = process.communicate(timeout=60)
    assert process.returncode == 0
    text = seen.decode()
    shown = text if raw else re.sub(r"\x1b\[[\d;]*m", "", text)
    return shown, next(part for part in other if part is not None)
