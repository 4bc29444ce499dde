"""Several processes of this program that share a search or a training, started as torchrun starts them."""

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence

PARENT = "DARTBOARD_LAUNCHER"
"""The environment variable with the process id of the launcher."""
PROGRAM = "import sys; from dartboard.cli.main import main; sys.exit(main())"
SHUTDOWN_TIMEOUT = "1800"
"""Seconds that processes have to save and stop; torch's default of 30 is too short for long steps."""
POLL_SECONDS = 0.5
"""How often a process checks that its launcher is alive."""
SIGNAL_EXIT = 128  # a shell adds the number of the signal


def world_size() -> int:
    """The number of processes that torchrun, or what sets the same variables, has started; 1 without it."""
    count = os.environ.get("WORLD_SIZE", "")
    return int(count) if "RANK" in os.environ and count.isdecimal() else 1


def launch(count: int, arguments: Sequence[str]) -> int:
    """Runs `dartboard ARGUMENTS` in `count` processes that share the work; returns the exit code.

    When one of them fails the others are ended too. A signal is passed on to all of them, which save and
    stop.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.ERROR)  # torch's own; failures are reported below, or by the processes
    os.environ[PARENT] = str(os.getpid())
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", SHUTDOWN_TIMEOUT)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # each process sets its own number of threads
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=f"dartboard-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
    )
    try:
        elastic_launch(config, sys.executable)("-P", "-c", PROGRAM, *arguments)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode < 0:  # killed, so it could not report this itself
            message = f"process {rank} of {count} was ended by signal {-failure.exitcode}"
            sys.stderr.write(f"dartboard: error: {message}; resume the run with --resume\n")
        return failure.exitcode if failure.exitcode > 0 else 1
    except SignalException as signal:
        return SIGNAL_EXIT + int(signal.sigval)
    return 0


def end_with_launcher() -> None:
    """Exits this process as soon as its launcher is gone; does nothing if it has none."""
    parent = os.environ.get(PARENT)
    if parent is None:
        return

    def watch() -> None:
        while os.getppid() == int(parent):
            time.sleep(POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
