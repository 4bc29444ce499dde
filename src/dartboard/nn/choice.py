"""Choices inside a module of one's own: which of several modules, which inputs, how many blocks.

A model with such modules in it is a search space; `dartboard.nn.choice_net` reads it off and runs the model
under a mixture. The model's own `forward` stays as it is: how candidates are blended is set for one pass by
`blending`, and every choice asks for its own part. Without a mixture all candidates count equally.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from operator import getitem
from typing import Any, Literal

import torch
from torch import Tensor, fx, nn
from torch.utils._pytree import tree_leaves

from dartboard.errors import NetworkError
from dartboard.nn.mixture import Blend, Live, Mixture
from dartboard.space.spec import NONE, Cell, Contest, Edge

_active: ContextVar[Mixture | None] = ContextVar("mixture of the current forward pass", default=None)
_in_backward: list[Mixture] = []
"""The mixture of the pass whose backward runs, for blocks that are computed again there (checkpointing)."""


@contextmanager
def blending(mixture: Mixture) -> Iterator[None]:
    """Inside, choices blend their candidates by this mixture."""
    token = _active.set(mixture)
    _in_backward.clear()
    try:
        yield
    finally:
        _active.reset(token)


def remember_for_backward(mixture: Mixture, outputs: Any) -> None:
    """Lets blocks of a pass that are computed again in its backward find the pass's mixture.

    Args:
        mixture: That of the pass.
        outputs: What the pass gave; its backward begins there.
    """

    def recall(_grads: object) -> None:
        _in_backward[:] = [mixture]

    for output in tensors(outputs):
        if output.grad_fn is not None:
            output.grad_fn.register_prehook(recall)


def current_mixture() -> Mixture | None:
    """The mixture of the pass that is being computed, or computed again in a backward; None without one."""
    mixture = _active.get()
    if mixture is None and _in_backward and torch._C._current_graph_task_id() != -1:
        return _in_backward[0]
    return mixture


class Decision(nn.Module, ABC):
    """A place in a model where something is left to choose.

    Args:
        share: Name of a decision that several places share; None for one of its own.

    Attributes:
        position: Its position among the slots of a model's space; -1 outside of one that is searched.
    """

    def __init__(self, share: str | None) -> None:
        super().__init__()
        if share is not None and (not share or "." in share):
            raise NetworkError(f"the name of a shared decision is a word without dots, not {share!r}")
        self.share = share
        self.position = -1

    @abstractmethod
    def cell(self) -> Cell:
        """What can be chosen, as the cell of a search space."""

    @abstractmethod
    def prune(self, live: Live) -> None:
        """Removes for good what only candidates outside of `live` need."""

    @abstractmethod
    def decided(self, chosen: Cell) -> nn.Module:
        """What is left when nothing is left to choose: modules of torch and of the model's author."""

    def blend(self) -> Blend:
        """How candidates are blended in the pass that is being computed; equally without a mixture."""
        mixture = current_mixture()
        if mixture is not None and self.position >= 0:
            return mixture.blend(self.position)
        cell = self.cell()
        live = self.present()
        ops = torch.zeros(cell.shape)
        for row, places in zip(ops, live, strict=True):
            row[list(places)] = 1 / len(places)
        edges = torch.ones(len(live)) / (len(live) if cell.contests else 1)
        return Blend(live, ops, edges)

    def present(self) -> Live:
        """The candidates that have not been removed."""
        return tuple(tuple(range(len(edge.ops))) for edge in self.cell().edges)


class Choice(Decision):
    """One of several modules.

    All candidates get what the choice is called with, and give tensors, tuples or dictionaries of tensors
    of the same shapes. During a search the output is their weighted sum.

    Args:
        candidates: The modules by name. `torch.nn.Identity` and `Zero` are candidates like others.
        share: Name of a decision that several places share; None for one of its own.

    Raises:
        NetworkError: If there are fewer than two candidates, or a name cannot be used.

    Examples:
        >>> import torch
        >>> from dartboard.nn import Choice
        >>> choice = Choice({"linear": torch.nn.Linear(3, 3), "skip": torch.nn.Identity()})
        >>> choice(torch.rand(2, 3)).shape
        torch.Size([2, 3])
    """

    def __init__(self, candidates: Mapping[str, nn.Module], *, share: str | None = None) -> None:
        super().__init__(share)
        if len(candidates) < 2:
            raise NetworkError(f"a choice is between two candidates or more, not {len(candidates)}")
        for name in candidates:
            if not name or "." in name or name == NONE:
                wanted = f"a text without dots, and {NONE!r} is taken"
                raise NetworkError(f"the name of a candidate is {wanted}; got {name!r}")
        self.names = tuple(candidates)
        self.candidates = nn.ModuleDict(candidates)

    def cell(self) -> Cell:
        return Cell(1, 2, (Edge(0, 1, self.names),), (1,))

    def present(self) -> Live:
        return (tuple(place for place, name in enumerate(self.names) if name in self.candidates),)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        blend = self.blend()
        (live,) = blend.live
        modules = []
        for place in live:
            if self.names[place] not in self.candidates:
                raise NetworkError(f"the candidate {self.names[place]} has been removed")
            modules.append(self.candidates[self.names[place]])
        if blend.attend is None and any(not isinstance(module, Zero) for module in modules):
            # zeros add nothing, whatever their weight is
            kept = [index for index, module in enumerate(modules) if not isinstance(module, Zero)]
            live, modules = tuple(live[index] for index in kept), [modules[index] for index in kept]
        outputs = [module(*args, **kwargs) for module in modules]
        names = [self.names[place] for place in live]
        weights = _op_weights(blend, outputs, live)
        return weighted_sum(outputs, weights, names)

    def prune(self, live: Live) -> None:
        names = {self.names[place] for place in live[0]}
        for name in [name for name in self.candidates if name not in names]:
            del self.candidates[name]

    def decided(self, chosen: Cell) -> nn.Module:
        module = self.candidates[chosen.edges[0].ops[0]]
        return _zeros() if isinstance(module, Zero) else module


class InputChoice(Decision):
    """Some of several tensors, added up.

    It is called with a list of `inputs` tensors of one shape. During a search they are weighted; when
    decided, `keep` of them are left.

    Args:
        inputs: How many tensors there are.
        keep: How many of them stay.
        combine: `sum` adds what stays, `mean` divides the sum by `keep`, `weighted` adds with weights that
            are trained like all others; with those, `keep` may be all of them.
        share: Name of a decision that several places share; None for one of its own.

    Raises:
        NetworkError: If nothing is left to choose.

    Examples:
        >>> import torch
        >>> from dartboard.nn import InputChoice
        >>> InputChoice(3, keep=2)([torch.ones(1, 2)] * 3)
        tensor([[1., 1.]])
    """

    def __init__(
        self,
        inputs: int,
        keep: int = 1,
        *,
        combine: Literal["sum", "mean", "weighted"] = "sum",
        share: str | None = None,
    ) -> None:
        super().__init__(share)
        if combine not in ("sum", "mean", "weighted"):
            raise NetworkError(f"inputs are combined by 'sum', 'mean' or 'weighted', not {combine!r}")
        most = inputs if combine == "weighted" else inputs - 1
        if not 1 <= keep <= most:
            raise NetworkError(f"of {inputs} inputs 1 to {max(most, 1)} can be kept, not {keep}")
        self.inputs, self.keep, self.combine = inputs, keep, combine
        self.weights: nn.Parameter | None
        weights = nn.Parameter(torch.ones(inputs)) if combine == "weighted" else None
        self.register_parameter("weights", weights)

    def cell(self) -> Cell:
        edges = tuple(Edge(0, 1, (f"input{index}",)) for index in range(self.inputs))
        whole = self.keep == self.inputs
        return Cell(
            1, 2, edges, (1,), () if whole else (Contest(tuple(range(self.inputs)), self.keep, True),)
        )

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        if len(inputs) != self.inputs:
            raise NetworkError(f"a choice between {self.inputs} inputs was given {len(inputs)}")
        blend = self.blend()
        present = [index for index, places in enumerate(blend.live) if places]
        weights: list[Tensor | None] = []
        for index in present:
            ops = None if blend.ops is None else blend.ops[..., index, 0]
            edges = None if blend.edges is None else blend.edges[..., index]
            weight = edges if ops is None else _product(ops, edges)
            weights.append(weight)
        given = [inputs[index] for index in present]
        if self.weights is not None:
            given = [tensor * self.weights[index] for tensor, index in zip(given, present, strict=True)]
        total: Tensor = weighted_sum(given, weights, [f"input{index}" for index in present])
        return total / self.keep if self.combine == "mean" else total

    def prune(self, live: Live) -> None:
        """Nothing is removed: inputs are computed by the model around."""

    def decided(self, chosen: Cell) -> nn.Module:
        kept = [int(edge.ops[0].removeprefix("input")) for edge in chosen.edges]
        root, graph = nn.Module(), fx.Graph()
        inputs = graph.placeholder("inputs")
        values = [graph.call_function(getitem, (inputs, index)) for index in kept]
        if self.weights is not None:
            root.weights = nn.Parameter(self.weights.detach()[kept].clone())
            weights = graph.get_attr("weights")
            values = [
                graph.call_function(torch.mul, (value, graph.call_function(getitem, (weights, place))))
                for place, value in enumerate(values)
            ]
        total = values[0]
        for value in values[1:]:
            total = graph.call_function(torch.add, (total, value))
        if self.combine == "mean":
            total = graph.call_function(torch.div, (total, self.keep))
        graph.output(total)
        return fx.GraphModule(root, graph, "Inputs")


class Repeat(Decision):
    """Between `least` and `most` blocks, one after the other.

    During a search the outputs after each possible number of blocks are weighted.

    Args:
        block: A function that makes a block, a block to be copied, or the list of all blocks. Copies start
            from values of their own where their layers can draw them anew (`reset_parameters`).
        least: The fewest blocks; 0 leaves what comes in as it is.
        most: The most blocks.
        share: Name of a decision that several places share; None for one of its own.

    Raises:
        NetworkError: If the numbers leave nothing to choose, or do not fit the list of blocks.

    Examples:
        >>> import torch
        >>> from dartboard.nn import Repeat
        >>> Repeat(torch.nn.Linear(4, 4), 1, 3)(torch.rand(2, 4)).shape
        torch.Size([2, 4])
    """

    def __init__(
        self,
        block: nn.Module | Callable[[], nn.Module] | Sequence[nn.Module],
        least: int,
        most: int,
        *,
        share: str | None = None,
    ) -> None:
        super().__init__(share)
        if not 0 <= least < most:
            raise NetworkError(f"a repeat needs 0 <= least < most; got {least} and {most}")
        if isinstance(block, nn.Module) and not isinstance(block, nn.ModuleList):
            blocks = [block, *(_fresh_copy(block) for _ in range(most - 1))]
        elif callable(block) and not isinstance(block, nn.ModuleList):
            blocks = [block() for _ in range(most)]
        else:
            blocks = list(block)
        if len(blocks) != most:
            raise NetworkError(f"a repeat of at most {most} blocks was given {len(blocks)}")
        self.least, self.most = least, most
        self.blocks = nn.ModuleList(blocks)

    def cell(self) -> Cell:
        return Cell(1, 2, (Edge(0, 1, tuple(map(str, range(self.least, self.most + 1)))),), (1,))

    def present(self) -> Live:
        return (tuple(range(len(self.blocks) - self.least + 1)),)

    def forward(self, x: Any) -> Any:
        blend = self.blend()
        depths = {self.least + place: place for place in blend.live[0]}
        if max(depths) > len(self.blocks):
            raise NetworkError(f"blocks beyond {len(self.blocks)} have been removed")
        outputs, places = [], []
        for depth in range(max(depths) + 1):
            if depth:
                x = self.blocks[depth - 1](x)
            if depth in depths:
                outputs.append(x)
                places.append(depths[depth])
        weights = _op_weights(blend, outputs, places)
        return weighted_sum(outputs, weights, [f"{self.least + place} blocks" for place in places])

    def prune(self, live: Live) -> None:
        del self.blocks[self.least + max(live[0]) :]

    def decided(self, chosen: Cell) -> nn.Module:
        depth = int(chosen.edges[0].ops[0])
        return nn.Sequential(*self.blocks[:depth]) if depth else nn.Identity()


class Zero(nn.Module):
    """A candidate that gives zeros, of the shape of its first input. Beside others it is never computed."""

    def forward(self, x: Tensor, *_args: Any, **_kwargs: Any) -> Tensor:
        return torch.zeros_like(x)


def tensors(tree: Any) -> Iterator[Tensor]:
    """The tensors in a tensor, or in tuples, lists and dictionaries of them, in order."""
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))


def weighted_sum(outputs: Sequence[Any], weights: Sequence[Tensor | None], names: Sequence[str]) -> Any:
    """The sum of tensors, or of tuples, lists and dictionaries of them, times weights.

    Args:
        outputs: One for each candidate, all of the same structure and shapes.
        weights: One for each candidate: a number (0-d), one for each example [B], or None for one.
        names: What messages call the candidates.

    Raises:
        NetworkError: If structures or shapes differ, or something is not a tensor of numbers to blend.
    """
    first = outputs[0]
    for output, name in zip(outputs[1:], names[1:], strict=True):
        if _shape(output) != _shape(first):
            shapes = f"{_shape(first)} and {_shape(output)}"
            raise NetworkError(f"the candidates {names[0]} and {name} give different outputs: {shapes}")
    if isinstance(first, Mapping):
        values = {key: weighted_sum([o[key] for o in outputs], weights, names) for key in first}
        return values if type(first) is dict else type(first)(values)  # type: ignore[call-arg]
    if isinstance(first, list | tuple):
        parts = [weighted_sum(list(part), weights, names) for part in zip(*outputs, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if first is None:
        return None
    if not isinstance(first, Tensor):
        kind = type(first).__name__
        raise NetworkError(f"the candidate {names[0]} gives a {kind}; candidates give tensors to be blended")
    if len(outputs) > 1 and not (first.is_floating_point() or first.is_complex()):
        raise NetworkError(f"the candidate {names[0]} gives {first.dtype}, which cannot be blended")
    terms = [_times(output, weight) for output, weight in zip(outputs, weights, strict=True)]
    return sum(terms[1:], terms[0])


def _op_weights(blend: Blend, outputs: Sequence[Any], places: Sequence[int]) -> list[Tensor | None]:
    """The weights of the candidates at `places` of the one edge of a decision."""
    if blend.attend is not None:
        return list(blend.attend(0, [next(tensors(output)) for output in outputs]).unbind(-1))
    return [None if blend.ops is None else blend.ops[..., 0, place] for place in places]


def _times(x: Tensor, weight: Tensor | None) -> Tensor:
    if weight is None or not (x.is_floating_point() or x.is_complex()):
        return x
    weight = weight.to(x.device)
    return x * (weight if weight.dim() == 0 else weight.view(-1, *[1] * (x.dim() - 1)))


def _product(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    return second if first is None else first if second is None else first * second


def _shape(tree: Any) -> Any:
    """The shape of a tensor, or of the tensors in tuples, lists and dictionaries."""
    if isinstance(tree, Tensor):
        return list(tree.shape)
    if isinstance(tree, Mapping):
        return {key: _shape(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return tuple(_shape(value) for value in tree)
    return type(tree).__name__


def _fresh_copy(module: nn.Module) -> nn.Module:
    copied = deepcopy(module)
    for child in copied.modules():
        reset = getattr(child, "reset_parameters", None)
        if callable(reset):
            reset()
    return copied


def _zeros() -> nn.Module:
    """`Zero` as a module that needs nothing but torch."""
    graph = fx.Graph()
    graph.output(graph.call_function(torch.zeros_like, (graph.placeholder("x"),)))
    return fx.GraphModule(nn.Module(), graph, "Zeros")
