"""What the tests of networks share: small networks, random mixtures, and two networks side by side."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any, TypeGuard

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dartboard.nn import ArchMixture, Blend, CellNet, NetConfig, all_live
from dartboard.nn.cell import CellModule
from dartboard.nn.mixture import Live
from dartboard.relax import Relaxation
from dartboard.space import Cell, SearchSpace

Results = dict[str, Tensor | None]


def shrink(space: SearchSpace, cells: int = 3) -> SearchSpace:
    """The space with two stages and few cells, one of them after the reduction."""
    stack = replace(space.stack, stages=2, cells=cells if space.stack.reduce == "cell" else 1)
    read = {slot.group for slot in stack.slots()}
    groups = tuple((arch, cell) for arch, cell in space.groups if arch in read)
    return replace(space, stack=stack, groups=groups)


def build(
    space: SearchSpace, *, seed: int = 0, dtype: torch.dtype = torch.float64, **options: object
) -> CellNet:
    """A small network whose batch-norms have random scales, shifts and statistics."""
    torch.manual_seed(seed)
    given: dict[str, object] = {"channels": 4, "classes": 5, "input": (3, 8, 8), "search": True} | options
    net = CellNet(space, NetConfig(**given)).to(dtype)  # type: ignore[arg-type]
    for norm in filter(is_norm, net.modules()):
        _scramble_norm(norm)
    return net


def randomize(module: nn.Module, *, seed: int) -> None:
    """Random weights, and batch-norms with random scales, shifts and statistics."""
    torch.manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    for norm in filter(is_norm, module.modules()):
        _scramble_norm(norm)


def is_norm(module: nn.Module) -> TypeGuard[nn.BatchNorm2d]:
    """Whether a module is a batch-norm."""
    return isinstance(module, nn.BatchNorm2d)


def _scramble_norm(norm: nn.BatchNorm2d) -> None:
    ranges = {
        "weight": (0.5, 1.5),
        "bias": (-0.5, 0.5),
        "running_mean": (-0.2, 0.2),
        "running_var": (0.2, 0.6),
    }
    for name, limits in ranges.items():
        if getattr(norm, name) is not None:
            nn.init.uniform_(getattr(norm, name), *limits)


@dataclass(frozen=True)
class Mixing:
    """What a random mixture is like.

    Args:
        dead: Whether some candidates, and all of some edges, do not take part.
        ops: Weights of candidates: one each, one for each example, or none.
        edges: Weights of edges: none, one each, or one for each example.
        attend: Whether weights depend on the outputs instead.
    """

    dead: bool = False
    ops: str = "one"
    edges: str = "none"
    attend: bool = False


@dataclass
class Trial:
    """A batch for a space, with a random mixture whose weights are leaves."""

    space: SearchSpace
    mixing: Mixing = Mixing()
    image: tuple[int, int, int] = (3, 8, 8)
    batch: int = 4
    dtype: torch.dtype = torch.float64
    leaves: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._generator = torch.Generator().manual_seed(0)
        self.x = self._random((self.batch, *self.image))
        self.labels = torch.arange(self.batch) % 5
        choose = partial(random_live, rng=Random(0)) if self.mixing.dead else all_live
        self._live = {arch: choose(cell) for arch, cell in self.space.groups}
        self.mixture()

    def mixture(self) -> ArchMixture:
        """The mixture, made of the leaves as they are now."""
        return ArchMixture(self.space, {arch: self._blend(arch, cell) for arch, cell in self.space.groups})

    def _blend(self, arch: str, cell: Cell) -> Blend:
        count, most = len(cell.edges), max(len(edge.ops) for edge in cell.edges)
        logits = self._leaf(f"{arch} ops", self.mixing.ops, (count, most))
        edges = self._leaf(f"{arch} edges", self.mixing.edges, (count,))
        if self.mixing.attend:
            assert logits is not None
            return Blend(self._live[arch], edges=edges, attend=attention(logits))
        return Blend(self._live[arch], None if logits is None else logits.softmax(-1), edges)

    def _leaf(self, name: str, kind: str, shape: tuple[int, ...]) -> Tensor | None:
        if kind == "none":
            return None
        if name not in self.leaves:
            lead = (self.batch,) if kind == "example" else ()
            self.leaves[name] = self._random((*lead, *shape)).requires_grad_()
        return self.leaves[name]

    def _random(self, shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=self._generator, dtype=torch.float64).to(self.dtype)

    def loss(self, net: CellNet) -> tuple[Tensor, Tensor]:
        """Loss and logits."""
        logits = net(self.x, self.mixture())
        return F.cross_entropy(logits, self.labels), logits


def random_live(cell: Cell, rng: Random) -> Live:
    """Random candidates of every edge, none at all on one edge in five."""
    counts = [len(edge.ops) for edge in cell.edges]
    live = [tuple(sorted(rng.sample(range(count), rng.randint(1, count)))) for count in counts]
    return tuple(() if index % 5 == 2 else own for index, own in enumerate(live))


def keep_one(relaxation: Relaxation, group: str, edge: int, place: int) -> None:
    """Removes all candidates of an edge but one."""
    for candidate in relaxation.live(group)[edge]:
        if candidate != place:
            relaxation.kill(group, edge, candidate)


def attention(logits: Tensor) -> Callable[[int, Sequence[Tensor]], Tensor]:
    """Weights from the outputs' first two moments and a parameter for each candidate."""

    def attend(edge: int, outputs: Sequence[Tensor]) -> Tensor:
        moments = [value.mean(dim=(1, 2, 3)) + value.square().mean(dim=(1, 2, 3)) for value in outputs]
        scores = torch.stack(moments, dim=-1) * logits[edge, : len(outputs)]
        return (scores + logits[edge, : len(outputs)]).softmax(-1)

    return attend


def results(net: CellNet, trial: Trial, *, second: bool = True) -> Results:
    """All that a step can show: logits, both kinds of gradients, second derivatives, buffers after it.

    The second derivatives are the product of the Hessian, in weights and mixing weights together, with a
    fixed random vector.
    """
    torch.manual_seed(1)  # for drop-path
    inputs = dict(net.named_parameters()) | trial.leaves
    loss, logits = trial.loss(net)
    gradients = torch.autograd.grad(loss, list(inputs.values()), create_graph=second, allow_unused=True)
    found: Results = {"logits": logits} | _named("gradient", inputs, gradients)
    if second:
        found |= _named("hessian", inputs, _product(gradients, inputs))
    found |= {f"buffer {name}": value.clone() for name, value in net.named_buffers()}
    return found


def _named(kind: str, names: Iterable[str], values: Iterable[Tensor | None]) -> Results:
    return {f"{kind} {name}": value for name, value in zip(names, values, strict=True)}


def _product(gradients: Sequence[Tensor | None], inputs: dict[str, Tensor]) -> Sequence[Tensor | None]:
    generator = torch.Generator().manual_seed(2)
    terms = []
    for gradient, value in zip(gradients, inputs.values(), strict=True):
        direction = torch.randn(value.shape, generator=generator, dtype=torch.float64).to(value.dtype)
        if gradient is not None and gradient.requires_grad:
            terms.append((gradient * direction).sum())
    return torch.autograd.grad(sum(terms[1:], terms[0]), list(inputs.values()), allow_unused=True)


def errors(found: Results, expected: Results) -> dict[str, float]:
    """The largest error of each result, relative to its size or a thousandth of the largest of its kind."""
    assert found.keys() == expected.keys()
    largest: dict[str, float] = {}
    for name, value in expected.items():
        kind = name.split(" ", 1)[0]
        largest[kind] = max(largest.get(kind, 0.0), _size(value))
    wrong = {}
    for name, value in expected.items():
        scale = max(_size(value), 1e-3 * largest[name.split(" ", 1)[0]])
        difference = _size(_minus(found[name], value))
        wrong[name] = difference / scale if scale else difference
    return wrong


def gradient_coverage(found: Results) -> float:
    """The share of parameters and mixing weights that have a gradient and take part in second derivatives."""
    derivatives = [value for name, value in found.items() if name.startswith(("gradient", "hessian"))]
    return sum(_size(value) > 0 for value in derivatives) / len(derivatives)


def _size(value: Tensor | None) -> float:
    return 0.0 if value is None or not value.numel() else float(value.detach().abs().max())


def _minus(value: Tensor | None, other: Tensor | None) -> Tensor | None:
    """The difference; no gradient is a gradient of zero."""
    if value is None or other is None:
        return other if value is None else value
    assert value.shape == other.shape
    assert value.dtype == other.dtype
    return value.detach().double() - other.detach().double()


def assert_equal(found: Results, expected: Results, *, within: float) -> None:
    """Fails with the worst results where some are further apart than `within`; zero means bit for bit."""
    wrong = {name: error for name, error in errors(found, expected).items() if not error <= within}
    worst = sorted(wrong.items(), key=lambda item: -item[1])[:5]
    assert not wrong, f"{len(wrong)} of {len(expected)} differ by more than {within}: {worst}"


def tensors(net: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers."""
    return dict(net.named_parameters()) | dict(net.named_buffers())


class Calls(TorchDispatchMode):
    """Counts the operators that run, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count[func.name().split(".")[0]] += 1
        return func(*args, **(kwargs or {}))


class OpCalls:
    """Counts the calls of a network's ops by themselves, by name; banks are no such calls."""

    def __init__(self, net: CellNet) -> None:
        self.count: Counter[str] = Counter()
        self._net = net

    def __enter__(self) -> "OpCalls":
        edges = [edge for slot in self._net.slots if isinstance(slot, CellModule) for edge in slot.edges]
        ops = [(name, op) for edge in edges for name, op in edge.items()]  # type: ignore[operator]
        self._handles = [op.register_forward_hook(partial(self._add, name)) for name, op in ops]
        return self

    def _add(self, name: str, *_: object) -> None:
        self.count[name] += 1

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()


class Arguments(TorchDispatchMode):
    """Keeps the arguments with which one operator is called."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.found: list[tuple[Any, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name().split(".")[0] == self.name:
            self.found.append(args)
        return func(*args, **(kwargs or {}))


class NoHostSync(TorchDispatchMode):
    """Fails on what makes the host wait for a device: values that Python looks at, copies between devices."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name().split(".")[0] in ("aten::_local_scalar_dense", "aten::item", "aten::equal"):
            raise AssertionError(f"{func.name()} waits for the device")
        result = func(*args, **(kwargs or {}))
        given = {value.device for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)}
        found = {value.device for value in tree_leaves(result) if isinstance(value, Tensor)}
        if len(given | found) > 1:
            raise AssertionError(f"{func.name()} copies between devices")
        return result


@contextmanager
def no_host_sync(device: str) -> Iterator[None]:
    """Tensors without values on `device`, and failure where something asks for their values."""
    fake = nullcontext() if device == "meta" else FakeTensorMode()
    with torch.device(device), fake, NoHostSync():
        yield
