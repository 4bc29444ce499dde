import json
import math
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dartboard.arch.objective import Batch
from dartboard.errors import CompositionError, RunError
from dartboard.runs import Run
from dartboard.search import Searcher
from dartboard.search.config import MethodChoice, SearchConfig, build, merge, resolved
from dartboard.search.searcher import load_searcher
from dartboard.utils.checksums import write_file
from dartboard_papers.theory.stationarity import measure, movement, slopes, stationarity
from helpers.protocol_cases import few_digits
from helpers.search_cases import SHORT


def config_of(folder: Path, method: str) -> SearchConfig:
    return merge(
        [SHORT, {"space": "nano", "data": few_digits(folder / "few.npz"), "epochs": 2, "method": method}]
    )


def made(config: SearchConfig) -> Searcher:
    parts = build(config)
    return Searcher(parts.space, parts.method, parts.data, parts.options)


def finished(folder: Path, method: str) -> Run:
    config = config_of(folder, method).model_copy(
        update={
            "method": MethodChoice.model_validate({"name": method, "lr": 3e-4 if method == "darts" else 0.1})
        }
    )
    searcher = made(config)
    with Run.create(folder / "run", resolved(config), space=searcher.space) as run:
        searcher.run = run
        searcher.fit()
    return Run.read(run.path)


@pytest.fixture(scope="module")
def simplex_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("simplex"), "gaea-darts")


@pytest.fixture(scope="module")
def logits_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("logits"), "darts")


def own_gradient(run: Run) -> tuple[torch.Tensor, torch.Tensor, float, float]:
    """Weights, gradient in the relaxation's own parameters, loss, and squared gradient of the net."""
    searcher = load_searcher(run)
    searcher.net.eval()
    (batch,) = searcher.valid_batches()
    loss, _ = searcher.objective.loss(batch)
    loss.backward()
    (parameter,) = searcher.relaxation.arch_parameters()
    (strength,) = searcher.relaxation.strengths().values()
    squared = sum(own.grad.square().sum().item() for own in searcher.net.parameters() if own.grad is not None)
    assert parameter.grad is not None
    return strength.ops, parameter.grad, loss.item(), squared


def test_small_steps_measure_the_variance_of_the_gradient_under_the_weights(simplex_run):
    theta, slopes, loss, squared = own_gradient(simplex_run)
    mean = (theta * slopes).sum(-1, keepdim=True)
    variance = (theta * (slopes - mean).square()).sum(-1)
    found = stationarity(simplex_run, scale=1e-3, iterations=20)
    assert found.step == pytest.approx(variance.sum().item(), rel=0.01)
    assert found.proximal == pytest.approx(found.step, rel=0.01)
    (edges,) = found.edges.values()
    assert edges == pytest.approx(variance.tolist(), rel=0.02)
    assert found.loss == pytest.approx(loss, rel=1e-4)
    assert found.weights == pytest.approx(squared, rel=1e-3)


def test_logits_are_measured_in_the_weights_that_they_give(logits_run):
    """A gradient in logits is u (g - mean), so the variance is its square over u."""
    theta, slopes, *_ = own_gradient(logits_run)
    variance = (slopes.square() / theta).sum().item()
    assert stationarity(logits_run, scale=1e-3).step == pytest.approx(variance, rel=0.01)


def test_scale_and_iterations_count_and_nothing_is_written(simplex_run):
    before = sorted((path, path.stat().st_mtime_ns) for path in simplex_run.path.rglob("*"))
    told: list[tuple[str, int, int]] = []
    usual = stationarity(simplex_run, scale=20.0, iterations=5, tell=lambda *own: told.append(own))
    assert [own for own in told if own[0] == "stationarity"] == [("stationarity", n, 6) for n in range(6)]
    assert stationarity(simplex_run, scale=10.0, iterations=5).step != usual.step
    assert stationarity(simplex_run, scale=20.0, iterations=1).proximal != usual.proximal
    assert sorted((path, path.stat().st_mtime_ns) for path in simplex_run.path.rglob("*")) == before


def test_movement_is_the_symmetric_divergence_between_epochs(simplex_run):
    found, expected = movement(simplex_run), 0.0
    first, second = (simplex_run.epoch(epoch)["strengths"] for epoch in (0, 1))
    (arch,) = found
    for a, b in zip(first[arch]["ops"], second[arch]["ops"], strict=True):
        expected += sum((x - y) * math.log(x / y) for x, y in zip(a, b, strict=True))
    assert found == {arch: [pytest.approx(expected, rel=1e-4)]}
    assert stationarity(simplex_run, iterations=1).movement == found


def test_batches_come_one_by_one_to_the_slopes_of_all_together(simplex_run):
    searcher = load_searcher(simplex_run)
    objective, ops = (
        searcher.objective,
        {name: own.ops for name, own in searcher.relaxation.strengths().items()},
    )
    ((images, labels),) = searcher.valid_batches()
    seen: list[weakref.ref[torch.Tensor]] = []

    def parts() -> Iterator[Batch]:
        for x, y in zip(images.split(5), labels.split(5), strict=True):
            own = x.clone()
            seen.append(weakref.ref(own))
            yield own, y
            del own
            assert all(each() is None for each in seen[:-1])  # no graph holds what came before

    whole = slopes(objective, ops, [(images, labels)], objective.net_weights)
    several = slopes(objective, ops, parts(), objective.net_weights)
    assert len(seen) > 2
    torch.testing.assert_close(several.loss, whole.loss)
    torch.testing.assert_close(several.ops, whole.ops, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(several.weights, whole.weights, rtol=1e-3, atol=1e-5)
    assert slopes(objective, ops, [(images, labels)]).weights == []


@pytest.mark.parametrize(
    "damaged", [{}, {"strengths": []}, {"strengths": {"cell": {"ops": [["x"]]}}}, {"strengths": {"cell": 3}}]
)
def test_damaged_epochs_are_said_to_be_so(simplex_run: Run, tmp_path: Path, damaged: dict[str, Any]) -> None:
    shutil.copytree(simplex_run.path, tmp_path / "run")
    write_file(tmp_path / "run/epochs/0001.json", json.dumps(damaged), root=tmp_path / "run")
    with pytest.raises(RunError, match="run is damaged: it has epochs whose strengths cannot be read"):
        movement(Run.read(tmp_path / "run"))


def test_attention_has_no_weights_that_the_loss_is_a_function_of(tmp_path):
    with pytest.raises(CompositionError, match="has no weights of candidates that the loss is a function of"):
        measure(made(config_of(tmp_path, "asm")), {}, 0.1, 1)
