"""What the tests of searches share: small problems with random weights, few images, short searches."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from dartboard.arch.objective import Batch, Objective, Precision
from dartboard.data import Dataset, ImageSet, load_dataset
from dartboard.relax import RELAXATIONS, Attention
from dartboard.relax.base import Relaxation
from dartboard.relax.categorical import Categorical
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import SearchSpace, get_space
from dartboard.tasks import Classification
from helpers import networks

SHORT: dict[str, Any] = {
    "epochs": 2,
    "batch": 16,
    "net": {"channels": 4},
    "data": {"workers": 0},
    "health": {"examples": 32},
}


def random_objective(
    space: SearchSpace | str = "nano", relax: str = "softmax", *, seed: int = 0, **options: Any
) -> Objective:
    """A small network under a relaxation, everything random; float64 unless `dtype` says otherwise."""
    space = get_space(space) if isinstance(space, str) else space
    precision = Precision(options.pop("precision", None), options.pop("scale", None))
    auxiliary, smoothing = options.pop("auxiliary", 0.0), options.pop("smoothing", 0.0)
    net = networks.build(space, seed=seed, auxiliary=auxiliary > 0, **options)
    generator = torch.Generator().manual_seed(seed)
    if relax == "attention":
        relaxation: Relaxation = Attention(space, init="random", generator=generator)
    else:
        relaxation = RELAXATIONS[relax](space, generator)
    relaxation.to(next(net.parameters()).dtype)
    inner = getattr(relaxation, "inner", relaxation)
    for values in relaxation.arch_parameters():
        randomize_(values, generator, on_simplex=isinstance(inner, Categorical) and inner.on_simplex)
    return Objective(net, relaxation, Classification(auxiliary, smoothing), precision=precision)


@torch.no_grad()
def randomize_(values: Tensor, generator: torch.Generator, *, on_simplex: bool) -> None:
    """Random values in the place of equal ones; rows that were on the simplex stay there."""
    noise = torch.randn(values.shape, generator=generator).to(values)
    if on_simplex:
        values.mul_(noise.exp())
        values.div_(values.sum(-1, keepdim=True).clamp_min(1e-12))
    else:
        values.add_(noise)


def batch(seed: int, size: int = 4, *, image: int = 8, dtype: torch.dtype = torch.float64) -> Batch:
    """Random images with labels."""
    generator = torch.Generator().manual_seed(100 + seed)
    x = torch.randn(size, 3, image, image, generator=generator, dtype=torch.float64)
    return x.to(dtype), torch.randint(5, (size,), generator=generator)


def snapshot(objective: Objective) -> dict[str, Any]:
    """All that somebody could change of a objective, but for the gradients of architecture parameters."""
    weights = dict(objective.net.named_parameters())
    own = {id(values) for values in objective.relaxation.arch_parameters()}
    both = (("net", objective.net), ("relaxation", objective.relaxation))
    return {
        **{f"value {key}": value.clone() for key, value in state(objective).items()},
        **{f"slope {name}": clone(values.grad) for name, values in weights.items()},
        **{
            f"slope {name}": clone(values.grad)
            for name, values in objective.relaxation.named_parameters()
            if id(values) not in own
        },
        **{f"mode {kind} {name}": own.training for kind, part in both for name, own in part.named_modules()},
        **{
            f"flag {kind} {name}": v.requires_grad
            for kind, part in both
            for name, v in part.named_parameters()
        },
    }


def state(objective: Objective) -> dict[str, Tensor]:
    """Weights, statistics and the relaxation's state, by name."""
    parts: tuple[tuple[str, nn.Module], ...] = (("net", objective.net), ("relaxation", objective.relaxation))
    return {f"{kind}.{key}": value for kind, part in parts for key, value in part.state_dict().items()}


def clone(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.clone()


def differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """The names under which two snapshots differ."""
    assert found.keys() == expected.keys()
    return [name for name, value in expected.items() if not same(found[name], value)]


def same(found: Any, expected: Any) -> bool:
    """Whether two values are equal, to the last bit where they are tensors."""
    if isinstance(expected, Tensor) and isinstance(found, Tensor):
        return torch.equal(found, expected)
    return bool(found == expected) if not isinstance(expected, Tensor) else False


@cache
def digits(size: int = 96) -> Dataset:
    """The first digits alone."""
    whole = load_dataset("digits")
    train = ImageSet(whole.train.images[:size], whole.train.labels[:size])
    return Dataset("few digits", whole.classes, train)


def search(
    method: str = "gaea-darts", *, method_options: Mapping[str, Any] | None = None, **more: Any
) -> Searcher:
    """A search of a few steps on a few digits.

    Args:
        method: Its name.
        method_options: What its function takes.
        more: `space`, `run`, `hooks` and `ranks`; all else are search options in the place of `SHORT`.
    """
    given = {key: more.pop(key) for key in ("run", "hooks", "group") if key in more}
    space = more.pop("space", "nano")
    space = get_space(space) if isinstance(space, str) else space
    options = SearchOptions.model_validate(merged(SHORT, more))
    return Searcher(space, make_method(method, method_options or {}), digits(), options, **given)


def merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Nested options, those of `more` in the place of those of `base`."""
    nested = {
        key: merged(base.get(key, {}), value) if isinstance(value, Mapping) else value
        for key, value in more.items()
    }
    return {**base, **nested}


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The names of all options, those in groups with a dot."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from leaves(field.annotation, f"{name}.")
        else:
            yield prefix + name


def nested(name: str, value: object) -> dict[str, Any]:
    """One option as nested options."""
    group, _, leaf = name.rpartition(".")
    return {group: {leaf: value}} if group else {leaf: value}
