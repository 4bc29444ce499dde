"""The package in environments of its own: every Python, the oldest torch, wheels without a network.

    nox --list
    nox --session tests-3.13

`make pythons` runs them all. On Linux the registry's torch brings gigabytes of CUDA libraries for each.
"""

from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13")
OLDEST_TORCH = "2.6.0"
nox.options.default_venv_backend = "venv"
nox.options.stop_on_first_error = False


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests with the versions of constraints.txt; arguments are passed on to pytest."""
    session.install("--constraint", "constraints.txt", "--editable", ".[test]", "--editable", "./papers")
    session.run("pytest", "-n", "2", "--dist", "worksteal", *session.posargs)


@nox.session(python=PYTHONS)
def demo(session: nox.Session) -> None:
    """The wheels in an empty environment, with the core dependencies alone: the demo and one figure."""
    folder = session.create_tmp()
    session.run("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ".", "./papers")
    wheels = sorted(map(str, Path(folder).glob("*.whl")))
    session.install("--constraint", "constraints.txt", *wheels)
    with session.chdir(folder):
        session.run("dartboard", "demo")
        session.run("dartboard", "reproduce", "xnas-figure-3")


@nox.session(python="3.11")
def tune(session: nox.Session) -> None:
    """The example that needs Ray Tune, whose pandas and pyarrow are too large for every installation."""
    session.install("--constraint", "constraints.txt", "--editable", ".[test]", "ray[tune]")
    session.run("pytest", "-m", "slow", "tests/examples", *session.posargs)


@nox.session(python="3.11", name="oldest")
def oldest(session: nox.Session) -> None:
    """The tests with the oldest torch that the package admits."""
    session.install("--editable", ".[test]", "--editable", "./papers", f"torch=={OLDEST_TORCH}")
    session.run("pytest", "-n", "2", "--dist", "worksteal", *session.posargs)
