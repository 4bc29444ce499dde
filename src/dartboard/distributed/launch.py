"""Several processes of this program on one machine that share a search or a training.

They are started here rather than by torch's launcher, whose store listens on all interfaces and unpickles
what it is sent: they meet in a file that nobody else can open, and exchange tensors over loopback.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGINT, SIGTERM, Signals
from tempfile import TemporaryDirectory

from dartboard.utils.processes import handling

PARENT = "DARTBOARD_LAUNCHER"
"""The environment variable with the process id of the launcher."""
STORE = "DARTBOARD_STORE"
"""The environment variable with the file in which the processes of a launcher meet."""
PROGRAM = """
import sys
try:
    from dartboard.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(main())
"""
SHUTDOWN_SECONDS = 1800.0
"""Seconds that processes have to save and stop; a step can be long."""
REPORT_SECONDS = 5.0
"""Seconds that rank 0 has to report that another process is gone before it is told to stop."""
POLL_SECONDS = 0.5
"""How often a process checks that its launcher is alive."""
WAIT_SECONDS = 0.05
"""How often the launcher checks its processes."""
SIGNAL_EXIT = 128  # a shell adds the number of the signal


def world_size() -> int:
    """The number of processes that `launch` or torchrun has started; 1 without them."""
    count = os.environ.get("WORLD_SIZE", "")
    return int(count) if "RANK" in os.environ and count.isdecimal() else 1


def launch(count: int, arguments: Sequence[str], program: str = PROGRAM) -> int:
    """Runs `dartboard ARGUMENTS` in `count` processes that share the work; returns the exit code.

    `program` is the Python source that they run instead of the command line.

    When one of them fails the others are ended too. SIGINT and SIGTERM are passed on to all of them, which
    save and stop.
    """
    with TemporaryDirectory(prefix="dartboard-") as folder:  # of mode 0700
        shared = os.environ | loopback_only()
        shared |= {PARENT: str(os.getpid()), STORE: str(Path(folder) / "store")}
        shared |= {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
        shared.setdefault("OMP_NUM_THREADS", "1")  # each process sets its own number of threads
        processes: list[subprocess.Popen[bytes]] = []

        signaled: set[int] = set()

        def pass_on(number: Signals) -> None:
            for process in processes:
                signaled.add(process.pid)
                with suppress(ProcessLookupError):
                    process.send_signal(number)

        with handling((SIGINT, SIGTERM), pass_on) as caught:
            try:
                for rank in range(count):
                    if caught:
                        break
                    own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
                    command = [sys.executable, "-P", "-c", program, *arguments]
                    # In sessions of their own: Ctrl-C in a terminal reaches each of them once, from here.
                    processes.append(subprocess.Popen(command, env=shared | own, start_new_session=True))  # noqa: S603
                if caught and signaled != {process.pid for process in processes}:  # one was just starting
                    pass_on(caught[0])
                failed = _first_failure(processes)
                if failed is not None and not caught:
                    _wait(processes[:1], REPORT_SECONDS)
                    pass_on(SIGTERM)
                _wait(processes, SHUTDOWN_SECONDS)
            finally:
                for process in processes:
                    process.kill()
    if caught:
        return SIGNAL_EXIT + int(caught[0])
    if failed is None:
        return 0
    code = processes[failed].returncode
    if code < 0:  # killed, so it could not report this itself
        message = f"process {failed} of {count} was ended by signal {-code}"
        sys.stderr.write(f"dartboard: error: {message}; a run that has begun is continued with --resume\n")
    return code if code > 0 else 1


def loopback_only() -> dict[str, str]:
    """Environment variables that keep what gloo and NCCL open to the loopback interface."""
    names = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    return {f"{backend}_SOCKET_IFNAME": names[0] for backend in ("GLOO", "NCCL")} if names else {}


def _first_failure(processes: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """The number of the first process that fails; None if all end well."""
    while True:
        codes = [process.poll() for process in processes]
        failed = next((rank for rank, code in enumerate(codes) if code), None)
        if failed is not None or None not in codes:
            return failed
        time.sleep(WAIT_SECONDS)


def _wait(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    """Waits until all processes have ended, but no longer than this number of seconds."""
    end = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(WAIT_SECONDS)


def end_with_launcher() -> None:
    """Exits this process as soon as its launcher is gone; does nothing if it has none."""
    parent = os.environ.get(PARENT)
    if parent is None:
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(POLL_SECONDS)
        if STORE in os.environ:  # which the launcher would have removed
            shutil.rmtree(Path(os.environ[STORE]).parent, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
