import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from dartboard.analysis.attention import AttentionMap, attention, attention_maps, plot_attention
from dartboard.arch.objective import Objective
from dartboard.errors import CheckpointError
from dartboard.nn.mixture import Blend, Mixture
from dartboard.relax import RELAXATIONS
from dartboard.runs import list_checkpoints
from dartboard.search.searcher import load_searcher
from dartboard.space import get_space
from helpers import networks
from helpers.search_cases import state
from helpers.search_runs import search_runs

pytestmark = pytest.mark.usefixtures("one_thread")


def make_objective(relax: str = "attention", space: str = "s2") -> Objective:
    own = networks.shrink(get_space(space), cells=3)
    relaxation = RELAXATIONS[relax](own, torch.Generator().manual_seed(0)).double()
    torch.manual_seed(1)
    for values in relaxation.parameters():
        values.data *= 3
        values.data += torch.randn_like(values)
    return Objective(networks.build(own).train(), relaxation.train())


def batches(count: int = 3) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    sizes = [20, 8, 4][:count]
    x = [torch.randn(size, 3, 8, 8, generator=generator, dtype=torch.float64) for size in sizes]
    return [(images, torch.randint(5, (len(images),), generator=generator)) for images in x]


class Spy:
    """A mixture that keeps the weights of every slot and edge."""

    def __init__(self, mixture: Mixture, seen: dict[tuple[int, int], list[Tensor]]) -> None:
        self.mixture, self.seen = mixture, seen

    def blend(self, slot: int) -> Blend:
        own = self.mixture.blend(slot)
        return replace(own, attend=partial(self.attend, slot, own))

    def attend(self, slot: int, own: Blend, edge: int, outputs: Sequence[Tensor]) -> Tensor:
        assert own.attend is not None
        weights = own.attend(edge, outputs)
        self.seen.setdefault((slot, edge), []).append(weights)
        return weights


@torch.no_grad()
def test_attention_is_the_mean_over_all_images() -> None:
    objective, seen = make_objective(), dict[tuple[int, int], list[Tensor]]()
    objective.net.eval()
    objective.relaxation.eval()
    for x, _ in batches():
        objective.logits(x, Spy(objective.relaxation(), seen))
    objective.net.train()
    objective.relaxation.train()
    before = {name: value.clone() for name, value in state(objective).items()}
    maps = attention_maps(objective, batches)
    assert [own.cells for own in maps] == [(1,), (2,), (3,)]
    for slot, own in enumerate(maps):
        assert own.weights.shape == (8, 2)
        for edge, row in enumerate(own.weights):
            np.testing.assert_allclose(row, torch.cat(seen[slot, edge]).mean(0).numpy())
    assert max(np.ptp(own.weights) for own in maps) > 0.05
    assert all(torch.equal(value, before[name]) for name, value in state(objective).items())
    assert objective.net.training


def test_strengths_of_other_methods_are_shown_by_arch() -> None:
    objective = make_objective("softmax", "darts")
    maps = attention_maps(objective, batches)
    strengths = objective.relaxation.strengths()
    assert [(own.group, own.cells, own.reduces) for own in maps] == [
        ("normal", (1, 3), False),
        ("reduce", (2,), True),
    ]
    for own in maps:
        np.testing.assert_allclose(own.weights, strengths[own.group].ops.numpy())


def test_edges_without_a_choice_are_left_out_and_columns_have_names() -> None:
    objective = make_objective("simplex", "oneshot1")
    (own,) = attention_maps(objective, batches)
    cell = objective.net.space.cells["cell"]
    assert own.edges == tuple((edge.source, edge.target) for edge in cell.edges if len(edge.ops) > 1)
    assert own.weights.shape == (4, 3)


def test_what_is_strongest() -> None:
    nan = float("nan")
    weights = np.array([[0.2, 0.8, nan], [nan, 0.4, 0.6], [0.1, 0.9, nan]])
    own = AttentionMap("cell", (1, 2), True, ((0, 1), (0, 2), (1, 2)), ("a", "b", "c"), weights)
    assert own.strongest == {"b": 2, "c": 1}
    assert own.means == pytest.approx({"a": 0.15, "b": 0.7, "c": 0.6})
    assert own.title == "cells 1, 2, reduces"
    facts = json.loads(json.dumps(own.facts()))
    assert facts["weights"][1] == [None, 0.4, 0.6]


def test_from_a_run_and_its_picture(tmp_path: Path) -> None:
    run = search_runs(tmp_path, "asm")["asm-0"]
    told = list[tuple[str, int, int]]()
    maps = attention(run.path, progress=lambda *words: told.append(words))
    searcher = load_searcher(run)
    total = sum(len(y) for _, y in searcher.valid_batches())
    assert told[-1] == ("attention", 0, total)  # all images are one batch
    for own, again in zip(maps, attention_maps(searcher.objective, searcher.valid_batches), strict=True):
        np.testing.assert_array_equal(own.weights, again.weights)
    figure = plot_attention(maps)
    for axes, own in zip(figure.axes, maps, strict=False):
        np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), own.weights)
        assert axes.get_title() == own.title
    last = list_checkpoints(run.path / "checkpoints")[-1]
    (last / "state.json").write_text("")
    with pytest.raises(CheckpointError):
        attention(run.path)
    assert len(attention(run.path, fall_back=True)) == len(maps)
