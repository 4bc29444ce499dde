"""The examples that tune a search with Optuna and Ray Tune run, small."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore")  # those of Optuna about what is experimental in it
def test_optuna_tunes_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
    example = load("tune_with_optuna")
    study = example.main(["--trials", "2", "--epochs", "1"])
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE"]
    assert all({"method", "weights.lr"} < trial.params.keys() for trial in study.trials)
    assert study.trials[0].intermediate_values == {0: study.trials[0].value}
    assert f"accuracy {study.best_value:.3f}" in capsys.readouterr().out

    class Worse(optuna.pruners.NopPruner):
        def prune(self, study: Any, trial: Any) -> bool:  # noqa: ARG002
            return bool(trial.last_step == 0)

    pruned = optuna.create_study(pruner=Worse())
    pruned.optimize(lambda trial: example.objective(trial, 3), n_trials=1)
    assert pruned.trials[0].state.name == "PRUNED"
    assert [*pruned.trials[0].intermediate_values] == [0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_tunes_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow", reason="ray[tune] is not installed; nox --session tune")
    ray = pytest.importorskip("ray", reason="ray[tune] is not installed; nox --session tune")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    example = load("tune_with_ray")
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=80 * 2**20)
    try:
        results = example.main(["--trials", "2", "--epochs", "1", "--out", str(tmp_path)])
    finally:
        ray.shutdown()
    assert results.num_errors == 0
    assert [result.metrics["epoch"] for result in results] == [1, 1]
    assert "accuracy 0." in capsys.readouterr().out
