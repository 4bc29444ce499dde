"""Weights with a batch axis in every slot: one backward pass tells what each example in each slot says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dartboard.errors import RelaxationError
from dartboard.nn.mixture import Blend
from dartboard.space.spec import SearchSpace


@dataclass(frozen=True)
class Feedback:
    """The gradient of a loss in the weights of one arch, for every slot that reads it and every example.

    Args:
        ops: In the weights of the candidates [S, B, E, N]; zero for those that took no part.
        edges: In the weights of the edges [S, B, E]; None where edges have none.
    """

    ops: Tensor
    edges: Tensor | None


class PerExample:
    """A mixture with weights for every example and every slot (methods with rewards per feedback, xnas 3.1).

    The weights [B, E, N] of each slot are leaves, equal in value and not connected with the relaxation's
    parameters. In evaluation mode an example's gradient is that of its own loss. In training mode
    batch-norms couple the examples, as they do in the paper's setting: then an example's gradient is that of
    the whole batch's loss in the example's weights, and only the sum over examples is the batch's.

    Args:
        space: The space whose slots are asked for.
        blends: The blend of each arch, without a batch axis.
        batch: How many examples there are.
    """

    def __init__(self, space: SearchSpace, blends: Mapping[str, Blend], batch: int) -> None:
        if batch < 1:
            raise RelaxationError(f"a batch has at least one example, not {batch}")
        self._readers = {
            arch: [index for index, slot in enumerate(space.slots) if slot.arch == arch] for arch in blends
        }
        self._blends = {
            slot: _with_leaves(blends[arch], batch) for arch, own in self._readers.items() for slot in own
        }

    def blend(self, slot: int) -> Blend:
        return self._blends[slot]

    def leaves(self) -> list[Tensor]:
        """All leaves: of each slot in order the weights of the candidates, then those of the edges if any."""
        blends = [self._blends[slot] for slot in sorted(self._blends)]
        return [leaf for blend in blends for leaf in (blend.ops, blend.edges) if leaf is not None]

    def feedback(self, loss: Tensor) -> Mapping[str, Feedback]:
        """The gradient of `loss` in all weights, from one backward pass that touches no `.grad`.

        A loss that is the mean over the batch makes every example's gradient smaller by the batch size.
        """
        leaves = self.leaves()
        return self.gather(torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True))

    def gather(self, found: Sequence[Tensor]) -> Mapping[str, Feedback]:
        """The gradients of all `leaves`, by arch."""
        gradients = {id(leaf): gradient for leaf, gradient in zip(self.leaves(), found, strict=True)}
        return {arch: self._gather(slots, gradients) for arch, slots in self._readers.items()}

    def _gather(self, slots: list[int], gradients: Mapping[int, Tensor]) -> Feedback:
        blends = [self._blends[slot] for slot in slots]
        ops = torch.stack([gradients[id(blend.ops)] for blend in blends])
        weighted = [gradients[id(blend.edges)] for blend in blends if blend.edges is not None]
        return Feedback(ops, torch.stack(weighted) if weighted else None)


def _with_leaves(blend: Blend, batch: int) -> Blend:
    return replace(blend, ops=_leaf(blend.ops, batch), edges=_leaf(blend.edges, batch))


def _leaf(weights: Tensor | None, batch: int) -> Tensor | None:
    if weights is None:
        return None
    return weights.detach().expand(batch, *weights.shape).clone().requires_grad_()
