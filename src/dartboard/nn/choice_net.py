"""A model of one's own with choices in it, as a network that is searched.

`space_of` reads the decisions off a model, `ChoiceNet` runs it under a mixture, and `ChoiceNet.network` gives
the model with nothing left to choose: modules of torch and of its author alone.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import nn

from dartboard.errors import NetworkError
from dartboard.nn.cell import BatchRows
from dartboard.nn.choice import Decision, blending, remember_for_backward, tensors
from dartboard.nn.elastic import ElasticLayer, ValueChoice
from dartboard.nn.mixture import Live, Mixture, one_hot, uniform
from dartboard.space.genotype import Genotype, restrict
from dartboard.space.spec import Cell, SearchSpace, Slot, Stack


def space_of(model: nn.Module, *, name: str | None = None) -> SearchSpace:
    """The search space of a model with choices.

    Every decision is a group, named after its place in the model with slashes for dots, or by the name that
    it shares with others.

    Args:
        model: The model.
        name: Name of the space; that of the model's class by default.

    Raises:
        NetworkError: If the model has no choices, or places that share a decision have different candidates.

    Examples:
        >>> import torch
        >>> from dartboard.nn import Choice, space_of
        >>> choice = Choice({"linear": torch.nn.Linear(2, 2), "skip": torch.nn.Identity()})
        >>> list(space_of(torch.nn.Sequential(torch.nn.ReLU(), choice)).cells)
        ['1']
    """
    groups: dict[str, Cell] = {}
    places: dict[str, str] = {}
    slots = []
    for path, decision in _decisions(model):
        group = decision.share or path.replace(".", "/") or "model"
        cell = decision.cell()
        if groups.setdefault(group, cell) != cell:
            raise NetworkError(
                f"{places[group]} and {path} share the decision {group!r}, and have different candidates: "
                f"{_candidates(groups[group])} and {_candidates(cell)}"
            )
        if group in places and decision.share is None:
            raise NetworkError(f"the decision at {path} is called like one that is shared: {group!r}")
        places.setdefault(group, path)
        slots.append(Slot(group))
    if not slots:
        raise NetworkError(
            f"{type(model).__name__} has no choices; put a Choice, an InputChoice or a Repeat into it"
        )
    stack = Stack(len(slots), layout=tuple(slots))
    return SearchSpace(name or type(model).__name__, tuple(groups.items()), stack)


def _decisions(model: nn.Module) -> Iterator[tuple[str, Decision]]:
    return ((path, module) for path, module in model.named_modules() if isinstance(module, Decision))


def _candidates(cell: Cell) -> str:
    return ", ".join(dict.fromkeys(op for edge in cell.edges for op in edge.ops))


class ChoiceNet(nn.Module):
    """A model with choices, to be run under mixtures.

    Args:
        model: The model; it is copied and stays as it is.
        name: Name of its space; that of its class by default.

    Attributes:
        space: The decisions of the model.
        model: The copy.
    """

    def __init__(self, model: nn.Module, *, name: str | None = None) -> None:
        super().__init__()
        self.space = space_of(model, name=name)
        self.model = deepcopy(model)
        for site, (_, decision) in enumerate(_decisions(self.model)):
            decision.position = site

    def forward(
        self,
        x: Any,
        mixture: Mixture | None = None,
        *,
        auxiliary: bool = False,
        rows: BatchRows | None = None,
    ) -> Any:
        """What the model gives for a batch.

        Args:
            x: The batch: a tuple or a list is several arguments, a dictionary arguments by name.
            mixture: How candidates are blended; None for equal weights.
            auxiliary: Of networks with auxiliary heads, which a model of one's own has not.
            rows: Where the examples lie in a larger batch; nothing here draws for one.
        """
        if auxiliary:
            raise NetworkError(f"{type(self.model).__name__} has no auxiliary head; leave net.auxiliary out")
        del rows
        if mixture is None:
            like = next(tensors(x), torch.empty(0))
            mixture = uniform(self.space, like=like if like.is_floating_point() else None)
        with blending(mixture):
            outputs = call(self.model, x)
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            remember_for_backward(mixture, outputs)
        return outputs

    def prune(self, live: Mapping[str, Live]) -> list[nn.Parameter]:
        """Removes for good all candidates but those in `live`, by group; mixtures must not name them again.

        Returns:
            The parameters of the removed candidates, to be taken out of their optimizer.
        """
        before = list(self.parameters())
        for _, decision in list(_decisions(self.model)):
            decision.prune(live[self.space.slots[decision.position].group])
        left = {id(parameter) for parameter in self.parameters()}
        return [parameter for parameter in before if id(parameter) not in left]

    def network(self, genotype: Genotype) -> nn.Module:
        """The model of an architecture, with the weights that it has here and nothing left to choose.

        It has modules of torch and of the model's author alone, in the place of every choice what was chosen.
        """
        cells, slots = restrict(self.space, genotype).cells, self.space.slots
        chosen = [cells[slot.group] for slot in slots]
        done: dict[int, nn.Module] = {}

        def value(choice: ValueChoice) -> int:
            return int(chosen[choice.position].edges[0].ops[0])

        def decide(module: nn.Module) -> nn.Module:
            if id(module) in done:
                return done[id(module)]
            result = module
            while isinstance(result, Decision):
                result = result.decided(chosen[result.position])
            if isinstance(result, ElasticLayer):
                result = result.decided(value).train(result.training)
            done[id(module)] = result
            for name, child in list(result._modules.items()):  # named_children() leaves out second names
                if isinstance(child, ValueChoice):
                    del result._modules[name]
                    setattr(result, name, value(child))
                elif child is not None:
                    result._modules[name] = decide(child)
            return result

        return decide(deepcopy(self.model))

    def discrete(self, x: Any, genotype: Genotype) -> Any:
        """What an architecture gives for a batch, computed by the network of all candidates."""
        return self(x, one_hot(self.space, genotype, like=next(self.parameters(), None)))


def call(model: nn.Module, x: Any) -> Any:
    """Calls a model with a batch: a tuple or a list is several arguments, a dictionary arguments by name."""
    if isinstance(x, Mapping):
        return model(**x)
    if isinstance(x, tuple | list):
        return model(*x)
    return model(x)
