"""The program `dartboard`: runs a command, and turns every error into one line.

Everything else is imported inside `main`, so that an interrupt in the meantime is quiet too.
"""

import os
import sys
import time
from collections.abc import Sequence
from io import TextIOWrapper

from dartboard.cli.exit_codes import INTERRUPTED, MISTAKE, PIPE_CLOSED
from dartboard.errors import DartboardError, one_line
from dartboard.utils.text import VisibleStream, printable

MAX_MESSAGE = 2000
"""Most characters of an error that are shown: it may quote a value of any length."""
OUT_OF_MEMORY = "out of memory; use a smaller net.channels or batch, or fewer cells"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code, one of `EXIT_CODES`."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for names that the encoding does not have
    before, backend = (sys.stdout, sys.stderr), os.environ.get("MPLBACKEND")
    sys.stdout, sys.stderr = (stream and VisibleStream(stream) for stream in before)
    # Pictures are written to files; the backend of a notebook may not be installed here.
    os.environ["MPLBACKEND"] = "agg"
    try:
        return _run(argv)
    finally:
        sys.stdout, sys.stderr = before
        if backend is None:
            del os.environ["MPLBACKEND"]
        else:
            os.environ["MPLBACKEND"] = backend


def _run(argv: Sequence[str] | None) -> int:
    try:
        from dartboard.cli import commands

        code = commands.run(sys.argv[1:] if argv is None else argv)
        if sys.stdout is not None:  # as it is where a shell has closed it
            sys.stdout.flush()  # so that a closed pipe is noticed here
    except (DartboardError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # Python flushes once more at exit, which must not fail as well.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        from dartboard.cli.processes import GRACE, is_silent

        if is_silent():
            time.sleep(GRACE)  # until rank 0 has printed an error that all ranks have, and ends this process
        text = printable(one_line(error))
        shown = text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."
        print(f"dartboard: error: {shown}", file=sys.stderr)
        return MISTAKE
    except (RuntimeError, MemoryError) as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps it where a class is made
            return _report_interrupt(error.__cause__)
        from dartboard.engine.process import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        print(f"dartboard: error: {OUT_OF_MEMORY}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt as interrupt:
        return _report_interrupt(interrupt)
    return code


def _report_interrupt(interrupt: BaseException) -> int:
    """Print that the program was interrupted, unless rank 0 does; an import could fail now."""
    if os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0":
        print("; ".join(["dartboard: interrupted", *map(str, interrupt.args)]), file=sys.stderr)
    return INTERRUPTED
