"""Ray Tune runs searches with different settings side by side, and stops the worse ones early (ASHA).

pip install dartboard 'ray[tune]'
python examples/tune_with_ray.py --trials 20 --epochs 10
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from ray import tune
from ray.tune.schedulers import ASHAScheduler

from dartboard import Searcher
from dartboard.search import EpochRecord, Hook


class Report(Hook):
    """Reports the metrics of every epoch to Ray Tune, which ends the search if others are better."""

    def on_epoch_end(self, searcher: Searcher, record: EpochRecord) -> None:
        metrics = {"accuracy": record.metrics["discrete_accuracy"], "entropy": record.metrics["entropy"]}
        tune.report({"epoch": searcher.epoch, **metrics})


def trial(config: dict[str, Any]) -> None:
    """One search, in a process of Ray's."""
    torch.set_num_threads(1)
    searcher = Searcher(
        "nano",
        {"name": "gaea-darts", "lr": config["lr"]},
        "digits",
        epochs=config["epochs"],
        net={"channels": 8},
        weights={"lr": config["weights_lr"]},
        hooks=[Report()],
    )
    searcher.fit()


def main(argv: Sequence[str] | None = None) -> "tune.ResultGrid":
    """Run the trials, and print the best."""
    parser = argparse.ArgumentParser(description="tune a search with Ray Tune")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("runs/tune"), help="folder of Ray Tune's files")
    args = parser.parse_args(argv)
    tuner = tune.Tuner(
        tune.with_resources(trial, {"cpu": 1}),
        param_space={
            "lr": tune.loguniform(1e-3, 1.0),
            "weights_lr": tune.loguniform(0.01, 0.3),
            "epochs": args.epochs,
        },
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=args.trials,
            scheduler=ASHAScheduler(time_attr="epoch", max_t=args.epochs, grace_period=min(3, args.epochs)),
        ),
        run_config=tune.RunConfig(storage_path=str(args.out.resolve()), verbose=1),
    )
    results = tuner.fit()
    best = results.get_best_result()
    print(f"accuracy {best.metrics['accuracy']:.3f} with {best.config}")
    return results


if __name__ == "__main__":
    main()
