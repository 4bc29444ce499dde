"""Commands with the names of Slurm's that do on this machine what a cluster would, as processes of their own.

A folder takes their place in PATH, see `install`. Beside the commands it has a folder of jobs: the script of
each, the group of its processes, its exit code, and what else is known of it. As long as there is a file
called `hold` jobs wait; as long as there is one called `refuse`, sbatch takes none.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("sbatch", "srun", "sacct", "scancel")
JOBS = Path(__file__).parent / "jobs"


def install(folder: Path) -> Path:
    """Puts the commands into a folder, which goes into PATH, and gives the folder of their jobs."""
    (folder / "jobs").mkdir(parents=True)
    script = f"#!{sys.executable}\n{Path(__file__).read_text()}"
    for name in NAMES:
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder / "jobs"


def sbatch(script: str) -> None:
    if (JOBS / "refuse").exists():
        sys.exit("sbatch: error: invalid partition specified: nowhere")
    number = 1 + len(list(JOBS.glob("*.sh")))
    own = JOBS / f"{number}.sh"
    own.write_text(Path(script).read_text())
    again = [sys.executable, __file__, "--run", str(number)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(again, start_new_session=True, **quiet)
    sys.stdout.write(f"Submitted batch job {number}\n")


def run(number: str) -> None:
    """What the machine does that a job is given to."""
    while (JOBS / "hold").exists() and not (JOBS / f"{number}.cancelled").exists():
        time.sleep(0.05)
    if (JOBS / f"{number}.cancelled").exists():
        return
    (JOBS / f"{number}.group").write_text(str(os.getpid()))
    for name in (signal.SIGTERM, signal.SIGUSR2):
        signal.signal(name, lambda *_: None)  # it is the job that they are for
    code = subprocess.call(["/bin/bash", JOBS / f"{number}.sh"], env=os.environ | {"SLURM_JOB_ID": number})
    (JOBS / f"{number}.code").write_text(str(code))


def srun(*words: str) -> None:
    rest, outputs = list(words), {}
    while rest[0].startswith("--"):
        flag = rest.pop(0)
        if flag in ("--output", "--error"):
            outputs[flag] = rest.pop(0).replace("%j", os.environ["SLURM_JOB_ID"]).replace("%t", "0")
    for flag, stream in (("--output", 1), ("--error", 2)):
        os.dup2(os.open(outputs[flag], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), stream)
    os.execvpe(rest[0], rest, os.environ | {"SLURM_PROCID": "0"})  # noqa: S606


def sacct(*words: str) -> None:
    sys.stdout.write("JobID|State|NodeList\n")
    for number in (words[place + 1] for place, word in enumerate(words) if word == "-j"):
        sys.stdout.write(f"{number}|{state(number)}|here\n")


def state(number: str) -> str:
    if (JOBS / f"{number}.cancelled").exists():
        return "CANCELLED by 1000"
    if (JOBS / f"{number}.code").exists():
        return "COMPLETED" if (JOBS / f"{number}.code").read_text() == "0" else "FAILED"
    if not (JOBS / f"{number}.group").exists():
        return "PENDING"
    try:
        os.killpg(int((JOBS / f"{number}.group").read_text()), 0)
    except ProcessLookupError:
        return "NODE_FAIL"
    return "RUNNING"


def scancel(number: str) -> None:
    state_before = state(number)
    (JOBS / f"{number}.cancelled").touch()
    if state_before == "RUNNING":
        os.killpg(int((JOBS / f"{number}.group").read_text()), signal.SIGTERM)


if __name__ == "__main__":
    name, words = re.sub(r".*/", "", sys.argv[0]), sys.argv[1:]
    if words[0] == "--run":
        run(words[1])
    else:
        {"sbatch": sbatch, "srun": srun, "sacct": sacct, "scancel": scancel}[name](*words)
