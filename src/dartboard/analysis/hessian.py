"""Curvature of a loss in weights and in architecture parameters: the spectrum of its Hessian."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from dartboard.analysis.examples import (
    Examples,
    Network,
    check_logits,
    module_of,
    normalized_examples,
    split_batches,
)
from dartboard.analysis.lanczos import (
    KrylovSpace,
    SpectralDensity,
    TraceEstimate,
    draw_probe,
    spectrum_ends,
)
from dartboard.analysis.measures import Plane, count_examples
from dartboard.arch.curvature import Floats, Product, arch_hessian
from dartboard.arch.objective import Batch, Objective, gradients
from dartboard.errors import CompositionError, OptionError, one_line
from dartboard.nn.model_file import Model
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Spectrum:
    """The ends of the spectrum of a Hessian in `size` parameters, of the mean loss of `examples` images.

    The largest eigenvalues come with the largest first; NaN where Lanczos' method found none. `trace` and
    `density` are None if they were not asked for.
    """

    largest: tuple[float, ...]
    smallest: float
    size: int
    examples: int
    trace: TraceEstimate | None = None
    density: SpectralDensity | None = None

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON; None for what was not found."""
        *largest, smallest = (
            None if math.isnan(value) else value for value in (*self.largest, self.smallest)
        )
        facts: dict[str, Any] = {
            "largest": largest,
            "smallest": smallest,
            "parameters": self.size,
            "examples": self.examples,
        }
        facts |= {} if self.trace is None else {"trace": self.trace.facts()}
        return facts | ({} if self.density is None else {"density": self.density.facts()})

    def plot(self) -> "Figure":
        """The density of the eigenvalues on a logarithmic scale, with the ends of the spectrum marked.

        Raises:
            OptionError: If there is no density.
        """
        from dartboard.viz.plots import plot_density

        if self.density is None:
            raise OptionError("there is no density to draw; ask for it with degree=40")
        return plot_density(*self.density.curve(), marks=[*self.largest, self.smallest])


def weight_spectrum(
    network: Network,
    data: Examples,
    *,
    count: int = 5,
    examples: int = 256,
    batch: int = 64,
    statistics: Literal["kept", "batch"] = "kept",
    tolerance: float = 1e-3,
    probes: int = 0,
    degree: int = 0,
    device: torch.device | str = "cpu",
    progress: Progress = no_progress,
) -> Spectrum:
    """The ends of the spectrum of the mean loss's Hessian in all weights of a network, its trace and density.

    By Lanczos' method with exact products, each of which passes all examples; memory is that of one batch,
    and of as many vectors as Lanczos' method keeps, at least 32 and `degree`.

    Args:
        network: A model, or any module from images to logits; it is not changed.
        data: What the loss is of, labeled with the network's classes: a data set, images, a pair of tensors,
            or a data set of torch.
        count: How many of the largest eigenvalues.
        examples: Examples, at the most, spread evenly over those given.
        batch: Examples that pass the network together.
        statistics: What batch-norms normalize by: `kept` running statistics, or those of each `batch`.
        tolerance: The relative accuracy of the eigenvalues.
        probes: Random vectors that the trace is estimated with; 0 for no trace.
        degree: Lanczos steps from each probe for the density; 0 for no density.
        device: Where to compute.
        progress: Called with the number of products done; how many it takes is not known.

    Raises:
        DataError: If there are no examples, or it is not known how their pixels are normalized.
        OptionError: If the network and the examples do not fit, or a density is wanted without probes.

    Examples:
        >>> import torch
        >>> from dartboard import load_dataset
        >>> from dartboard.analysis.hessian import weight_spectrum
        >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        >>> spectrum = weight_spectrum(net, load_dataset("digits"), examples=64, probes=4)
        >>> spectrum.size, spectrum.smallest > -1e-5, spectrum.trace.mean > spectrum.largest[0]
        (650, True, True)
    """
    plane = Plane(module_of(network), statistics=statistics, device=device)
    x, y = (values.to(device) for values in normalized_examples(network, data, examples, seed=0))
    batches = split_batches(x, y, batch, drop_last=statistics == "batch")
    if not isinstance(network, Model):
        check_logits(plane.net, batches)
    size = sum(weight.numel() for weight in plane.weights)
    product = _count_products(_weight_hessian(plane, batches), progress)
    return _spectrum(product, size, count_examples(batches), count, tolerance, probes, degree)


def _weight_hessian(plane: Plane, batches: Sequence[Batch]) -> Product:
    """The product of the Hessian in all weights with a vector."""
    weights, sizes = plane.weights, [weight.numel() for weight in plane.weights]
    total = count_examples(batches)

    def product(vector: Floats) -> Floats:
        flat = torch.from_numpy(vector).to(weights[0])
        parts = [part.view(weight.shape) for part, weight in zip(flat.split(sizes), weights, strict=True)]
        total_product = torch.zeros_like(flat, dtype=torch.float64)
        for x, y in batches:
            with sdpa_kernel(SDPBackend.MATH):  # fused attention has no second derivative
                loss = F.cross_entropy(plane.net(x), y, reduction="sum") / total
                grads = gradients(loss, weights, create_graph=True)
            along = torch.stack([(grad * part).sum() for grad, part in zip(grads, parts, strict=True)]).sum()
            try:
                rows = gradients(along, weights)
            except RuntimeError as error:
                if "not implemented" not in str(error):
                    raise
                raise OptionError(
                    f"a part of the network has no second derivative ({one_line(error)})"
                ) from None
            total_product += torch.cat([row.flatten() for row in rows])
        return np.asarray(total_product.cpu().numpy())

    return product


def arch_spectrum(
    objective: Objective,
    batches: Sequence[Batch],
    *,
    count: int = 5,
    tolerance: float = 1e-3,
    probes: int = 0,
    degree: int = 0,
    progress: Progress = no_progress,
) -> Spectrum:
    """The ends of the spectrum of the mean loss's Hessian in the architecture parameters of a search.

    Args:
        objective: The problem; nothing of it is changed, chance included.
        batches: Images and labels; each passes the network by itself.
        count: How many of the largest eigenvalues.
        tolerance: The relative accuracy of the eigenvalues.
        probes: Random vectors that the trace is estimated with; 0 for no trace.
        degree: Lanczos steps from each probe for the density; 0 for no density.
        progress: Called with the number of products done; how many it takes is not known.

    Raises:
        CompositionError: If the relaxation has no architecture parameters.
    """
    size = sum(parameter.numel() for parameter in objective.relaxation.arch_parameters())
    if not size:
        raise CompositionError(
            f"{type(objective.relaxation).__name__} has no architecture parameters that a loss could be "
            "curved in"
        )
    with arch_hessian(objective, batches) as hessian:
        product = _count_products(hessian, progress)
        return _spectrum(product, size, count_examples(batches), count, tolerance, probes, degree)


def _count_products(product: Product, progress: Progress) -> Product:
    """The same product, which reports how many there have been."""
    done = 0

    def counted(vector: Floats) -> Floats:
        nonlocal done
        result = product(vector)
        done += 1
        progress("products with the Hessian", done, 0)
        return result

    return counted


def _spectrum(
    product: Product, size: int, examples: int, count: int, tolerance: float, probes: int, degree: int
) -> Spectrum:
    """Ends, trace and density of a spectrum; the search for the ends starts with the first probe."""
    if degree and not probes:
        raise OptionError("the density is a mean over probes; give a number of probes, such as probes=10")
    ends = spectrum_ends(product, draw_probe(size, 0), count=count, tolerance=tolerance, basis=degree)
    largest, steps = tuple(map(float, ends.largest)), min(degree, size)
    matrices, samples = [ends.matrix[:steps, :steps]], [size * float(ends.matrix[0, 0])]
    for number in range(1, probes):
        probe = draw_probe(size, number)
        if degree:
            space = KrylovSpace(product, probe, steps)
            space.grow()
            matrices.append(space.matrix)
            samples.append(size * float(space.matrix[0, 0]))
        else:
            samples.append(size * float(probe @ product(probe)))
    trace = TraceEstimate.of(samples) if probes and np.isfinite(samples).all() else None
    density = SpectralDensity.of(matrices) if degree and trace is not None else None
    return Spectrum(largest, ends.smallest, size, examples, trace, density)
