"""Exit codes of the program."""

FAILED = 1
MISTAKE = 2
SIGNALLED = 128
INTERRUPTED = SIGNALLED + 2
PIPE_CLOSED = SIGNALLED + 13
TERMINATED = SIGNALLED + 15

EXIT_CODES = {
    0: "done",
    FAILED: "done, but some runs failed, runs check found damage, or check a difference",
    MISTAKE: "bad input, or out of memory; one line on standard error says what",
    INTERRUPTED: "interrupted (Ctrl-C); what can be resumed is saved",
    PIPE_CLOSED: "the reader of standard output has closed it",
    TERMINATED: "ended by SIGTERM; what can be resumed is saved",
}
"""What each exit code means, in a line. A traceback, which is a bug, has the code 1 as well."""
