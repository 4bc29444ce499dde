import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Starts real Python processes with a script, to talk to by lines; they do not outlive the tests."""
    with ExitStack() as stack:

        def started(script: str, *arguments: object) -> "subprocess.Popen[str]":
            command = [sys.executable, "-c", script, *map(str, arguments)]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
            )
            stack.enter_context(process)  # closes its pipes and waits for it
            stack.callback(process.kill)
            return process

        yield started
