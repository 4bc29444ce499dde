"""Errors of dartboard: one root, a named child for each kind of mistake, and messages in one line."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


class DartboardError(Exception):
    """Root of all errors that the caller can fix; the command line prints them in one line.

    Examples:
        >>> from dartboard import DartboardError, get_space
        >>> try:
        ...     get_space("nb20l")
        ... except DartboardError as error:
        ...     print(error)
        no space called 'nb20l'; did you mean 'nb201'?
    """


class SpaceError(DartboardError, ValueError):
    """A search space, cell or stack that is impossible."""


class GenotypeError(DartboardError, ValueError):
    """A genotype text that cannot be read, or a genotype that does not fit a space."""


class NetworkError(DartboardError, ValueError):
    """A network that cannot be built from a space and a configuration."""


class ModelError(DartboardError, ValueError):
    """A trained model that cannot be read, written or used."""


class CompositionError(DartboardError, ValueError):
    """Components of a method that cannot be combined; says why."""


class RelaxationError(DartboardError, ValueError):
    """A request that a relaxation does not support, such as a candidate that it does not have."""


class UpdateError(DartboardError, ValueError):
    """Hyperparameters or parameters that an update rule does not support."""


class DataError(DartboardError, ValueError):
    """Images or labels that cannot be read, or do not fit the configuration."""


class TableError(DartboardError, ValueError):
    """A benchmark table that cannot be read, or a query that it cannot answer."""


class RunError(DartboardError):
    """A directory that is not a run, a run that is in use, or a value that cannot be recorded."""


class RunInUseError(RunError):
    """A run that another process is writing to."""


class NewerFormatError(RunError):
    """A run that a newer version of dartboard has written."""


class CheckpointError(RunError):
    """A checkpoint that is damaged or incompatible."""


class UnsafeFileError(RunError):
    """A file that is not read: a named pipe, a device, a folder, a link to elsewhere, or far too large."""


class ChecksumError(RunError):
    """A file that was changed after it was written."""


class OptionError(DartboardError, ValueError):
    """An invalid value of an option."""


class DivergedError(DartboardError, ArithmeticError):
    """A loss that is infinite or NaN."""


class DistributedError(DartboardError):
    """Processes that cannot run together, or whose states have diverged."""


class Stopped(DartboardError):  # noqa: N818
    """A search or training that was stopped on request, after saving its state."""


class UnknownNameError(DartboardError, KeyError):
    """A name that is not registered.

    Args:
        kind: Kind of the values in the registry, such as "op".
        name: The unknown name.
        known: Registered names.
        more: Text to append to the message.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], more: str = "") -> None:
        known = sorted(known)
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
        super().__init__(f"no {kind} called {name!r}; {hint}{more}")
        self._arguments = kind, name, known, more

    def __reduce__(self) -> tuple[type["UnknownNameError"], tuple[str, str, list[str], str]]:
        return UnknownNameError, self._arguments  # the message alone cannot be unpickled

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the message in quotes


class DuplicateNameError(DartboardError, ValueError):
    """A name that is registered already, from another place.

    Args:
        kind: Kind of the values in the registry, such as "op".
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
    """The message of an error in one line, or its type if it has none; system errors without their number."""
    message = str(error)
    if isinstance(error, OSError) and error.strerror:
        files = [str(name) for name in (error.filename, error.filename2) if name is not None]
        prefix = f"cannot read or write {' or '.join(files)}: " if files else ""
        message = f"{prefix}{error.strerror}"
    return " ".join(message.split()) or type(error).__name__


def validation_message(error: "ValidationError", keys: Mapping[str, Sequence[str]]) -> str:
    """The first complaint of a validation in one line, with a hint.

    An unknown key comes before all others: a key that is missing is often there under a wrong name.

    Args:
        error: What the validation of a text raised.
        keys: The keys known under each named part of the text; those of any other part are under `""`.
    """
    complaints = error.errors()
    first = next((one for one in complaints if one["type"] in _UNKNOWN_KEY), complaints[0])
    place = [str(part) for part in first["loc"]]
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    if first["type"] in _UNKNOWN_KEY:
        parents = [part for part in first["loc"][:-1] if isinstance(part, str)]
        known = keys.get(parents[-1] if parents else "top", keys[""])
        message = str(UnknownNameError("key", place.pop(), known))
    elif first["type"] in ("value_error", "json_invalid", "missing"):
        message = message[:1].lower() + message[1:]
    else:
        message = f"{message}, got {short_repr(first['input'])}"
    return f"{'.'.join(place)}: {message}" if place else message


def short_repr(value: object, limit: int = 60) -> str:
    """A value as it can stand in a one-line message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else f"{text[:limit]}..."


def join_names(names: Iterable[str], limit: int = 6) -> str:
    """Names with commas between them, the later ones of many left out."""
    names = list(names)
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + rest
