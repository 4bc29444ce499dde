"""Loss and accuracy along lines through weights: between solutions, or along the last steps of a training."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from dartboard.analysis.examples import (
    Examples,
    Network,
    check_logits,
    module_of,
    normalized_examples,
    split_batches,
)
from dartboard.analysis.measures import Plane, Statistics, count_examples, weights_of
from dartboard.errors import OptionError
from dartboard.nn.model_file import Model
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
State = Mapping[str, Tensor]
"""Weights and buffers by name, as `state_dict` gives them."""


@dataclass(frozen=True, eq=False)
class LossLine:
    """Loss and accuracy along the straight lines from each state of a network to the next.

    Args:
        positions: 0 at the first state, 1 at the second and so on [points].
        losses: Mean loss [points]; infinite where it overflowed.
        accuracies: Accuracy [points].
        distances: Of each state's weights to the next one's, Euclidean [states - 1].
        plane: Coordinates of the states along the first two principal directions of their weights [states,
            2].
        explained: The fractions of the states' variance that lie along these two.
    """

    positions: Floats
    losses: Floats
    accuracies: Floats
    distances: Floats
    plane: Floats
    explained: tuple[float, float]

    @property
    def barrier(self) -> float:
        """How far the loss rises above the straight line between the losses of neighboring states, at the
        most."""
        between = (self.positions >= 0) & (self.positions <= len(self.distances))
        at_states = [self.losses[np.abs(self.positions - place).argmin()] for place in range(len(self.plane))]
        chord = np.interp(self.positions[between], range(len(self.plane)), at_states)
        return float((self.losses[between] - chord).max())

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; None for what is infinite."""
        losses = [value if np.isfinite(value) else None for value in self.losses.tolist()]
        return {
            "positions": self.positions.tolist(),
            "losses": losses,
            "accuracies": self.accuracies.tolist(),
            "barrier": self.barrier if np.isfinite(self.barrier) else None,
            "distances": self.distances.tolist(),
            "plane": self.plane.tolist(),
            "explained": list(self.explained),
        }

    def plot(self, labels: Sequence[str]) -> "Figure":
        """Loss and accuracy along the line, and the states in the plane of their principal directions."""
        from dartboard.viz.plots import plot_line

        return plot_line(self.positions, self.losses, self.accuracies, self.plane, self.explained, labels)


def loss_line(
    network: Network,
    states: Sequence[State],
    data: Examples,
    *,
    points: int = 21,
    beyond: float = 0.5,
    statistics: Statistics = "kept",
    train: Examples | None = None,
    examples: int = 512,
    batch: int = 128,
    fresh: int = 256,
    device: torch.device | str = "cpu",
    progress: Progress = no_progress,
) -> LossLine:
    """Loss and accuracy along the line through two states of a network or more, and beyond both ends.

    Args:
        network: A model, or any module from images to logits; it is not changed, its own weights do not
            count.
        states: Two solutions, or the weights after each of the last steps of a training.
        data: What is measured, as for `landscape`.
        points: Points from a state to the next, both included.
        beyond: How far the line goes on beyond the first and the last state, in units of its first and last
            part.
        statistics: What batch-norms normalize by: `kept` takes running statistics from the line as well,
            beyond its ends those of the end; `fresh` recomputes them from training images at every point;
            `batch` takes those of each batch.
        train: Training examples; needed for `fresh` alone.
        examples: Examples, at the most, spread evenly over those given.
        batch: Examples that pass the network together.
        fresh: Training examples that fresh statistics are taken from.
        device: Where to compute.
        progress: Called with the number of points done.

    Raises:
        DataError: If there are no examples, or it is not known how their pixels are normalized.
        OptionError: If the states do not fit the network, or there are fewer than two.

    Examples:
        >>> import torch
        >>> from dartboard import load_dataset
        >>> from dartboard.analysis.lines import loss_line
        >>> nets = [torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10)) for _ in range(2)]
        >>> line = loss_line(nets[0], [net.state_dict() for net in nets], load_dataset("digits"), points=5)
        >>> line.positions.tolist()
        [-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]
        >>> line.barrier <= 1e-6  # the loss of a linear network is convex
        True
    """
    if points < 2 or not 0 <= beyond < float("inf"):
        raise OptionError(f"a line has 2 points or more and goes on by 0 or more; got {points=}, {beyond=}")
    if statistics == "fresh" and train is None:
        raise OptionError("statistics=fresh takes statistics from training images; give them, or use kept")
    net = module_of(network)
    _check_states(net, states)
    extra = ()
    if statistics == "fresh" and train is not None:
        extra = normalized_examples(network, train, fresh, seed=0)[0].to(device).split(batch)
    plane = Plane(net, statistics=statistics, fresh=extra, device=device)
    x, y = (values.to(device) for values in normalized_examples(network, data, examples, seed=0))
    batches = split_batches(x, y, batch, drop_last=statistics == "batch")
    last, outside = len(states) - 1, int(beyond * (points - 1))
    positions = np.arange(-outside, last * (points - 1) + outside + 1) / (points - 1)
    buffers = {name for name, _ in net.named_buffers(remove_duplicate=False)}
    losses, accuracies = [], []
    for done, position in enumerate(positions.tolist(), 1):
        segment = int(min(max(np.floor(position), 0), last - 1))
        state = interpolate(states[segment], states[segment + 1], position - segment, buffers)
        plane.net.load_state_dict(state)
        if statistics == "fresh":
            plane.refresh_statistics()
        if done == 1 and not isinstance(network, Model):
            check_logits(plane.net, batches)
        with torch.inference_mode():
            logits = [plane.net(images).double() for images, _ in batches]
        total = count_examples(batches)
        pairs = [(outputs, labels) for outputs, (_, labels) in zip(logits, batches, strict=True)]
        loss = sum(F.cross_entropy(*pair, reduction="sum").item() for pair in pairs) / total
        losses.append(loss if np.isfinite(loss) else np.inf)
        accuracies.append(sum((outputs.argmax(1) == y).sum().item() for outputs, y in pairs) / total)
        progress("points of the line", done, len(positions))
    distances, plane_coordinates, explained = project(list(weights_of(net)), states)
    return LossLine(
        positions, np.array(losses), np.array(accuracies), distances, plane_coordinates, explained
    )


def _check_states(net: nn.Module, states: Sequence[State]) -> None:
    """Raise OptionError unless there are two states or more, all of one architecture."""
    if len(states) < 2:
        raise OptionError(f"a line goes through two states of a network or more, not {len(states)}")
    shapes = {name: value.shape for name, value in net.state_dict().items()}
    for number, state in enumerate(states, 1):
        other = {name: value.shape for name, value in state.items()}
        if other != shapes:
            name = next(name for name in (*shapes, *other) if shapes.get(name) != other.get(name))
            raise OptionError(
                f"network {number} is of another architecture: its {name} is "
                f"{list(other.get(name, ())) or 'missing'}, that of the first "
                f"{list(shapes.get(name, ())) or 'missing'}; no line leads there"
            )


def interpolate(first: State, second: State, fraction: float, buffers: Collection[str]) -> dict[str, Tensor]:
    """The state at a fraction of the way from one to another, exactly these at 0 and 1.

    `buffers` names what is not a weight: beyond the ends they stay as they are there, as a variance would
    become negative; counts are those of the first state everywhere.
    """
    state: dict[str, Tensor] = {}
    for name, start in first.items():
        place = min(max(fraction, 0.0), 1.0) if name in buffers else fraction
        end = second[name].to(start.device)
        state[name] = torch.lerp(start, end, place) if start.is_floating_point() else start
    return state


def project(names: Sequence[str], states: Sequence[State]) -> tuple[Floats, Floats, tuple[float, float]]:
    """Distances between neighboring states, and the states along two principal directions.

    Args:
        names: The weights that count.
        states: The states.

    Returns:
        Distances [states - 1]; coordinates around the mean [states, 2]; fractions of the variance.
    """
    rows = [torch.cat([state[name].detach().cpu().double().flatten() for name in names]) for state in states]
    weights = torch.stack(rows)
    distances = (weights[1:] - weights[:-1]).norm(dim=1).numpy()
    centered = weights - weights.mean(0)
    values, vectors = np.linalg.eigh((centered @ centered.T).numpy())
    values = np.maximum(values[::-1], 0.0)
    coordinates = vectors[:, ::-1][:, :2] * np.sqrt(values[:2])
    explained = values[:2] / values.sum() if values.sum() else np.zeros(2)
    return distances, coordinates, (float(explained[0]), float(explained[1]))
