"""Several processes of this program that share a search or a training, started as torchrun starts them."""

import logging
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

PARENT = "DARTBOARD_LAUNCHER"
"""The variable by which a process knows who has started it."""
PROGRAM = "import sys; from dartboard.cli.main import main; sys.exit(main())"
GRACE = "1800"
"""Seconds that processes have to save and stop; torch's own 30 are too few for long steps."""
LOOK = 0.5
"""Seconds between two looks at whether who has started this process is still there."""
SIGNALLED = 128  # a shell adds the number of the signal


def launch(count: int, words: Sequence[str]) -> int:
    """Runs `dartboard WORDS` in so many processes that share the work; returns the exit code.

    When one of them ends too soon the others are ended too. A signal is passed on to all of them, which save
    and stop.

    Args:
        count: How many.
        words: What follows `dartboard` on the command line.
    """
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.ERROR)  # of torch; what goes wrong is said below, or by the processes
    os.environ[PARENT] = str(os.getpid())
    os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", GRACE)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # how many there are of each is settled by each itself
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
        elastic_launch(config, sys.executable)("-P", "-c", PROGRAM, *words)
    except ChildFailedError as error:
        return _failed(error, count)
    except SignalException as signal:
        return SIGNALLED + int(signal.sigval)
    return 0


def _failed(error: "ChildFailedError", count: int) -> int:
    """The exit code of the process that ended first; says so where it could not do that itself."""
    rank, failure = error.get_first_failure()
    if failure.exitcode < 0:
        words = f"process {rank} of {count} was ended by signal {-failure.exitcode}"
        sys.stderr.write(f"dartboard: error: {words}; --resume goes on with the run\n")
    return failure.exitcode if failure.exitcode > 0 else 1


def end_with_launcher() -> None:
    """Ends this process at once when the one that has launched it is gone; does nothing if none has."""
    parent = os.environ.get(PARENT)
    if parent is not None:
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
