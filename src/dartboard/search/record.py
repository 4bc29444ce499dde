"""What is measured of a search: after every epoch, and at the end."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from dartboard.arch.curvature import largest_eigenvalue
from dartboard.engine.result import Result, check_choice
from dartboard.errors import ModelError
from dartboard.nn.inherit import inherit
from dartboard.nn.network import CellNet
from dartboard.registry import find_renderer
from dartboard.relax.base import Strength
from dartboard.runs import digest
from dartboard.search import health
from dartboard.search.health import accuracy, discrete_accuracy
from dartboard.search.select import Selector
from dartboard.space.formats import GENOTYPE_FORMATS
from dartboard.space.genotype import Genotype, restrict
from dartboard.utils.text import plural, span

if TYPE_CHECKING:
    from dartboard.search.searcher import Searcher


@dataclass(frozen=True)
class EpochRecord:
    """The measurements of an epoch.

    Args:
        epoch: Its number, from 0.
        metrics: Numbers, ready for a line of JSON.
        genotype: The current choice.
        strengths: Of each group.
        warnings: See `health.warnings`.
    """

    epoch: int
    metrics: Mapping[str, Any]
    genotype: Genotype
    strengths: Mapping[str, Strength]
    warnings: tuple[str, ...]

    def details(self) -> dict[str, Any]:
        """Genotype and strengths, ready for JSON."""
        strengths = {
            group: {"ops": strength.ops.tolist(), "edges": strength.edges.tolist()}
            for group, strength in self.strengths.items()
        }
        return {"epoch": self.epoch, "genotype": to_json(self.genotype), "strengths": strengths}


@dataclass(frozen=True, repr=False)
class SearchResult(Result):
    """The result of a search.

    Args:
        genotype: The architecture that was selected.
        epochs: How many epochs were trained.
        seconds: How long it took, over all processes that worked on it.
        entropy: Mean entropy of the strengths at the end, in nats.
        valid_accuracy: Of the supernet on held-out images; None if nothing was trained.
        discrete_accuracy: Of the supernet with the chosen ops alone; None if nothing was trained.
        digest: Of every weight, buffer and strength, to compare two searches to the last bit.
        arch_lr: Learning rate of the architecture at the end, whoever set it; None if there is none.
        warnings: Of the finished search; see `health.warnings`.
        supernet: The network that was trained.
        run: The run directory; None if nothing was written.

    Examples:
        >>> from dartboard import Searcher
        >>> result = Searcher("nano", "darts", "digits", epochs=1, net={"channels": 2}).fit()
        >>> result  # doctest: +ELLIPSIS
        SearchResult
          accuracy   ... of held-out images, by the supernet; ... with the cell alone
          ...
        >>> result.network().space.discrete
        True
    """

    genotype: Genotype
    epochs: int
    seconds: float
    entropy: float
    valid_accuracy: float | None
    discrete_accuracy: float | None
    digest: str
    arch_lr: float | None = None
    warnings: tuple[str, ...] = ()
    supernet: CellNet | None = field(default=None, compare=False)
    run: Path | None = field(default=None, compare=False)

    def facts(self) -> dict[str, Any]:
        """The measurements, ready for JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.compare}
        return values | {"genotype": to_json(self.genotype), "warnings": list(self.warnings)}

    def summary(self) -> dict[str, str]:
        """Accuracy, entropy, learning rate, time and warnings, by label."""
        lines = {
            "entropy": f"{self.entropy:.3f}",
            **({} if self.arch_lr is None else {"rate": f"{self.arch_lr:.3g} for the architecture"}),
            "time": f"{span(self.seconds)}, {plural(self.epochs, 'epoch')}",
        }
        if self.valid_accuracy is not None and self.discrete_accuracy is not None:
            supernet = f"{self.valid_accuracy:.1%} of held-out images, by the supernet"
            lines = {"accuracy": f"{supernet}; {self.discrete_accuracy:.1%} with the cell alone"} | lines
        lines |= {"warning": "; ".join(self.warnings)} if self.warnings else {}
        return lines if self.run is None else lines | {"run": str(self.run)}

    def plot(self) -> Any:
        """A matplotlib figure of the cells."""
        return find_renderer("cell_figure")(self.genotype)

    def network(self, weights: Literal["inherit", "fresh"] = "inherit") -> CellNet:
        """The network of the architecture that was selected.

        Args:
            weights: `inherit` for those of the supernet, with which it computes what the supernet computes
                with these ops alone; `fresh` for a new start, with batch-norms that have a scale and a shift.

        Raises:
            ModelError: If the supernet is not at hand.
        """
        if self.supernet is None:
            raise ModelError(
                "this result comes without its supernet; train its genotype with Trainer(result)"
            )
        config, space = self.supernet.config, restrict(self.supernet.space, self.genotype)
        fresh = replace(config, search=False, partial=1)
        net = CellNet(space, check_choice("weights", weights, {"inherit": config, "fresh": fresh}))
        net = net.to(next(self.supernet.parameters()).device)
        if weights == "inherit":
            inherit(net, self.supernet)
        return net


def to_json(genotype: Genotype) -> Any:
    """A genotype as plain values."""
    return json.loads(GENOTYPE_FORMATS["json"].encode(genotype))


def measure_epoch(searcher: "Searcher") -> EpochRecord:
    """Measures the epoch that has just ended; changes nothing."""
    method = searcher.method
    genotype, strengths, cells = _choose(searcher, method.preview or method.select, f"epoch {searcher.epoch}")
    objective, chosen = searcher.objective, searcher.options.health
    metrics: dict[str, Any] = {
        "step": searcher.step,
        "seconds": searcher.seconds,
        "lr": searcher.optimizer.param_groups[0]["lr"],
        **searcher.meter.read(),
        "valid_accuracy": accuracy(objective, objective.relaxation, searcher.valid_batches()),
        "entropy": health.mean_entropy(cells),
        "pieces": objective.micro_batches,
        **_update_facts(searcher),
        "cells": {group: asdict(cell) for group, cell in cells.items()},
    }
    if chosen.discrete:
        metrics["discrete_accuracy"] = discrete_accuracy(objective, genotype, searcher.valid_batches())
    if chosen.hessian and objective.relaxation.arch_parameters():
        # As many held-out images as a micro-batch of a step has, since the memory needed is of that kind.
        x, y = next(iter(searcher.valid_batches()))
        most = max(searcher.group.local_batch(searcher.options.batch) // objective.micro_batches, 1)
        eigenvalue = largest_eigenvalue(objective, (x[:most], y[:most]))
        metrics |= {"hessian": eigenvalue} if math.isfinite(eigenvalue) else {}
    warnings = health.warnings(
        cells,
        done=searcher.epoch + 1 == searcher.plan.at(searcher.epoch).epochs,
        learns=searcher.update is not None,
        accuracy=metrics["valid_accuracy"],
        discrete=metrics.get("discrete_accuracy"),
        clipped=metrics.get("clipped_rewards", 0.0),
    )
    metrics["warnings"] = list(warnings)
    return EpochRecord(searcher.epoch, metrics, genotype, strengths, tuple(warnings))


def _update_facts(searcher: "Searcher") -> dict[str, float]:
    """The learning rate of the architecture as `arch_lr`, and what else its update tells of itself."""
    update: Any = searcher.update
    if update is None:
        return {}
    facts = getattr(update, "facts", None)
    return {"arch_lr": update.param_groups[0]["lr"]} if facts is None else dict(facts())


def _choose(
    searcher: "Searcher", select: Selector, time: str
) -> tuple[Genotype, Mapping[str, Strength], dict[str, health.CellHealth]]:
    """The choice of a selector, with random draws of its own; strengths, and the health of groups."""
    rng = Random(f"{searcher.options.seed} {time}")
    local = select(searcher.objective, searcher.valid_batches, rng)
    text = GENOTYPE_FORMATS["json"]
    # Measurements of ranks could differ by rounding.
    genotype = searcher.group.broadcast(
        lambda: local,
        lambda genotype: text.encode(genotype).encode(),
        lambda data: text.decode(data.decode()),
    )
    strengths = searcher.relaxation.strengths()
    return genotype, strengths, health.measure(searcher.space, genotype, strengths)


def conclude(searcher: "Searcher") -> SearchResult:
    """Selects and measures when all is trained; changes nothing."""
    objective = searcher.objective
    genotype, strengths, cells = _choose(searcher, searcher.method.select, "end")
    trained = searcher.method.trains
    mixed = accuracy(objective, objective.relaxation, searcher.valid_batches()) if trained else None
    discrete = discrete_accuracy(objective, genotype, searcher.valid_batches()) if trained else None
    update = _update_facts(searcher)
    warnings = health.warnings(
        cells,
        done=True,
        learns=searcher.update is not None,
        accuracy=mixed,
        discrete=discrete,
        clipped=update.get("clipped_rewards", 0.0),
    )
    weighed = {group: {"ops": value.ops, "edges": value.edges} for group, value in strengths.items()}
    return SearchResult(
        genotype=genotype,
        epochs=searcher.epoch,
        seconds=searcher.seconds,
        entropy=health.mean_entropy(cells),
        valid_accuracy=mixed,
        discrete_accuracy=discrete,
        digest=digest({"net": dict(objective.net.state_dict()), "strengths": weighed}),
        arch_lr=update.get("arch_lr"),
        warnings=tuple(warnings),
        supernet=objective.net,
        run=None if searcher.run is None else searcher.run.path,
    )
