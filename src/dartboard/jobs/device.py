"""The device and the threads that a job computes with."""

import os

import torch

from dartboard.errors import OptionError, RunError
from dartboard.jobs.job import Job
from dartboard.runs import RunReader, is_run


def find_device(name: str | None, what: str = "the device") -> torch.device:
    """The device of a name; without one a GPU if there is one, else the CPU.

    Args:
        name: Its name, if there is one.
        what: What an error calls it.

    Raises:
        OptionError: If there is no such device, or it cannot be used.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or deterministic=true fails on GPUs
    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        raise OptionError(f"{what} {name} cannot be used: {reason}; cpu always can") from None
    return device


def device_and_threads(job: Job) -> tuple[str | None, int | None]:
    """Those of a run that is resumed, whose bits depend on them, else the job's.

    Raises:
        RunError: If the run does not say what it used.
    """
    if not is_run(job.path):
        return job.device, job.threads
    last = RunReader.read(job.path).environment()[-1]
    device, threads = last.get("device"), last.get("threads")
    if not isinstance(device, str | None) or not isinstance(threads, int | None):
        raise RunError(f"{job.path}: environment.json does not say device and threads; it was changed")
    return device or job.device, threads or job.threads
