"""A search method: not a class to inherit from, but a composition of parts.

A registered function of a few lines returns one; its keyword arguments are the method's options.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

import torch
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError
from torch.optim import Optimizer

from dartboard.arch.gradient import ArchGradient
from dartboard.arch.penalties import Penalty
from dartboard.config.schema import MAX_RATE, check_number
from dartboard.engine.config import ScheduleLengths
from dartboard.errors import CompositionError, OptionError, UnknownNameError
from dartboard.registry import Registry
from dartboard.relax.base import Relaxation
from dartboard.search.hooks import Hook
from dartboard.search.select import FromStrengths, Selector
from dartboard.space.spec import SearchSpace
from dartboard.utils.yaml_text import format_value

STRONGEST = FromStrengths()
Relax = Callable[[SearchSpace, torch.Generator], Relaxation]
Update = Callable[[Relaxation, ScheduleLengths], Optimizer]
Warmup = int | float
"""A number of epochs, or below 1 a fraction of all epochs."""
Partial = int | Literal["auto"]
"""The K of PC-DARTS, or `auto` for the largest with enough channels; see `Method.partial_channels`."""
ROUNDING = 1e-9
"""Tolerance of whole numbers of epochs, such as 0.58 of 50."""
MAX_PARTIAL, MIN_CHANNELS = 4, 4
"""The K of PC-DARTS, and the fewest channels that it leaves to the candidates: a quarter of 16."""


@dataclass(frozen=True)
class Method:
    """How a space is searched.

    Args:
        relax: Makes the relaxation of a space.
        gradient: Where the gradient of the architecture parameters comes from; None if there are none.
        update: Makes the optimizer of the architecture parameters; None if there are none.
        penalties: Terms of the architecture parameters alone that are added to the loss they descend.
        select: Takes the decisions when all is trained.
        preview: Takes them after every epoch, for the record; None for `select` itself.
        bilevel: Whether the architecture is judged by images of its own, half of them by default.
        joint: Whether both gradients come from one pass; only where the architecture is judged by the images
            that the weights are trained on.
        partial: Only one in this many channels passes the candidates (PC-DARTS' K); `auto` follows the
            channels, see `partial_channels`.
        warmup: Epochs at the start in which the architecture is frozen; below 1, a fraction of all epochs.
        trains: Whether weights are trained at all.
        hooks: Hooks of the method.
    """

    relax: Relax
    gradient: ArchGradient | None = None
    update: Update | None = None
    penalties: tuple[Penalty, ...] = ()
    select: Selector = STRONGEST
    preview: Selector | None = None
    bilevel: bool = False
    joint: bool = False
    partial: Partial = 1
    warmup: Warmup = 0
    trains: bool = True
    hooks: tuple[Hook, ...] = ()

    def __post_init__(self) -> None:
        if self.partial != "auto" and self.partial < 1:
            raise OptionError(f"partial must be a whole number >= 1, or auto, got {self.partial}")
        if self.warmup < 0 or (self.warmup >= 1 and self.warmup % 1):
            raise OptionError(
                f"warmup must be a whole number >= 0 or a fraction below 1, got {self.warmup:g}"
            )
        if (self.gradient is None) != (self.update is None):
            raise CompositionError("a gradient needs an update, and an update a gradient; give both or none")
        if self.gradient is None and (self.bilevel or self.joint or self.warmup or self.penalties):
            raise CompositionError(
                "bilevel, joint, warmup and penalties are about architecture parameters, and this method has "
                "none"
            )
        if self.joint and self.bilevel:
            raise CompositionError(
                "joint takes both gradients from one batch, and bilevel judges the architecture by another; "
                "use bilevel=false with joint"
            )
        if self.joint and not hasattr(self.gradient, "joint"):
            raise CompositionError(
                f"{type(self.gradient).__name__} needs passes of its own and cannot come from the weights' "
                "pass; leave joint out"
            )

    def partial_channels(self, channels: int) -> int:
        """K of a network of this many channels: with `auto` at most 4, so that candidates get 4 or more.

        PC-DARTS has K = 4 and 16 channels. Fewer than 4 are too few to tell candidates apart.
        """
        if self.partial != "auto":
            return self.partial
        fits = [k for k in range(1, MAX_PARTIAL + 1) if not channels % k and channels // k >= MIN_CHANNELS]
        return max(fits, default=1)

    def warmup_epochs(self, epochs: int) -> int:
        """Epochs at the start of a search of this length in which the architecture is frozen."""
        return int(self.warmup if self.warmup >= 1 else self.warmup * epochs + ROUNDING)

    def compose(self, space: SearchSpace, generator: torch.Generator) -> Relaxation:
        """The relaxation of a space.

        Raises:
            CompositionError: If the method has no meaning on this space; says why.
        """
        if space.discrete:
            raise CompositionError(f"space {space.name!r} has nothing left to choose; search another")
        relaxation = self.relax(space, generator)
        if self.gradient is not None:
            self.gradient.check(relaxation)
        for penalty in self.penalties:
            penalty.check(relaxation)
        return relaxation


METHODS: Registry[Callable[..., Method]] = Registry("method", "dartboard.methods")


@dataclass(frozen=True)
class LegacyDefault:
    """Metadata of an option, as in `Annotated[float, LegacyDefault(0.0)]`: its value in runs older than it.

    An option without it has its default there.
    """

    value: Any


def options_before(name: str) -> dict[str, Any]:
    """The options of a method whose value in older runs is not the default; see `LegacyDefault`."""
    values = {}
    for option, parameter in signature(METHODS[name], eval_str=True).parameters.items():
        for metadata in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(metadata, LegacyDefault):
                values[option] = metadata.value
    return values


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method registered under `name`, with options as its function takes them.

    Raises:
        UnknownNameError: If there is no such method, or it has no such option.
        OptionError: If an option's value is of the wrong kind.

    Examples:
        >>> from dartboard import make_method
        >>> make_method("gaea-darts", {"lr": 0.2}).bilevel
        True
    """
    return METHODS[name](**check_options(name, options or {}))


def list_methods() -> list[str]:
    """Names of the registered search methods, those of installed packages included.

    Examples:
        >>> from dartboard import list_methods
        >>> "gaea-darts-erm" in list_methods()
        True
    """
    return list(METHODS)


def register_method(name: str) -> Callable[[Callable[..., Method]], Callable[..., Method]]:
    """Decorator that registers a function as the search method `name`.

    The function returns a `Method`; its keyword arguments, with annotations and defaults, are the options.

    Examples:
        >>> from dartboard import make_method, register_method
        >>> @register_method("slow-gaea")
        ... def slow_gaea(*, lr: float = 0.01):
        ...     '''GAEA DARTS with a small learning rate.'''
        ...     return make_method("gaea-darts", {"lr": lr})
        >>> make_method("slow-gaea", {"lr": 0.02}).joint
        False
    """
    return METHODS.register(name, stacklevel=2)


def check_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a method as its function takes them; raises as `make_method` does."""
    known = signature(METHODS[name], eval_str=True).parameters
    checked = {}
    for key, value in options.items():
        if key not in known:
            raise UnknownNameError(f"option of method {name}", key, known)
        kind = known[key].annotation
        try:
            check_number(kind, value)
            checked[key] = TypeAdapter(kind).validate_python(value)
        except PydanticCustomError as error:
            raise OptionError(f"method.{key}={format_value(value)} of {name}: {error.message()}") from None
        except ValidationError as error:
            reason = error.errors()[0]["msg"].lower()
            raise OptionError(f"method.{key}={format_value(value)} of {name}: {reason}") from None
        if isinstance(checked[key], float) and not math.isfinite(checked[key]):
            raise OptionError(f"method.{key}={value!r} of {name}: input should be a finite number")
        if isinstance(checked[key], float) and abs(checked[key]) > MAX_RATE:
            limit = f"input should be at most {MAX_RATE:g} in size"
            raise OptionError(f"method.{key}={value!r} of {name}: {limit}")
    return checked
