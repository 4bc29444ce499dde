"""The errors dartboard raises on purpose: one root, one named child per kind of mistake."""

import difflib
from collections.abc import Iterable


class DartboardError(Exception):
    """Root of all errors that are the caller's to mend; the command line prints them in one line."""


class SpaceError(DartboardError, ValueError):
    """A search space, cell or stack that cannot be what it says."""


class GenotypeError(DartboardError, ValueError):
    """A genotype text that cannot be read, or a genotype that does not fit where it is used."""


class NetworkError(DartboardError, ValueError):
    """A network that cannot be built from the space and the configuration given."""


class ModelError(DartboardError, ValueError):
    """A trained model that cannot be read, written or used as asked."""


class CompositionError(DartboardError, ValueError):
    """Parts that cannot work together; says why."""


class RelaxationError(DartboardError, ValueError):
    """A relaxation that is asked for what it cannot give, such as a candidate that it has not."""


class UpdateError(DartboardError, ValueError):
    """An update rule given numbers or parameters that it cannot work with."""


class DataError(DartboardError, ValueError):
    """Images or labels that cannot be read, or that do not fit what is asked of them."""


class TableError(DartboardError, ValueError):
    """A benchmark's file that cannot be read, or a question that the benchmark cannot answer."""


class RunError(DartboardError):
    """A directory that is no run, a run that is in use, or a value that a run cannot record."""


class RunInUseError(RunError):
    """A run that another process is writing to."""


class CheckpointError(RunError):
    """A checkpoint that cannot be read back as it was written."""


class OptionError(DartboardError, ValueError):
    """An option whose value cannot be used."""


class DivergedError(DartboardError, ArithmeticError):
    """A loss that is infinite or no number."""


class DistributedError(DartboardError):
    """Processes that cannot share a loop, or that have come to hold different states."""


class Stopped(DartboardError):  # noqa: N818
    """A search or a training that was asked to stop, and has saved its state."""


class UnknownNameError(DartboardError, KeyError):
    """A name that nothing is registered under.

    Args:
        kind: What it would be the name of.
        name: The name.
        known: The names that there are.
        more: What is said after them.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], more: str = "") -> None:
        known = sorted(known)
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
        super().__init__(f"no {kind} called {name!r}; {hint}{more}")
        self._asked = kind, name, known, more

    def __reduce__(self) -> tuple[type["UnknownNameError"], tuple[str, str, list[str], str]]:
        return (
            UnknownNameError,
            self._asked,
        )  # what was asked, as the words alone make none in another process

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotes


class DuplicateNameError(DartboardError, ValueError):
    """A name that is registered already, from another place.

    Args:
        kind: What it is the name of.
        name: The name.
        first: Where it was registered first.
        second: Where it was registered again.
    """

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(kind, name, first, second)

    def __str__(self) -> str:
        kind, name, first, second = self.args
        return f"{kind} {name!r} is registered already by {first}, and again by {second}; choose another name"


def one_line(error: BaseException) -> str:
    """What an error says, in one line; its kind, if it says nothing."""
    words = _of_system(error) if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(words.split()) or type(error).__name__


def _of_system(error: OSError) -> str:
    """What the system could not do, without the number that it has for that."""
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"cannot read or write {' or '.join(files)}: {error.strerror}" if files else str(error.strerror)
