"""Optuna chooses the method and the learning rates of a search, and prunes searches that fall behind.

pip install dartboard optuna
python examples/tune_with_optuna.py --trials 20 --epochs 10
"""

import argparse
from collections.abc import Sequence

import optuna

from dartboard import Searcher
from dartboard.search import EpochRecord, Hook


class Prune(Hook):
    """Reports the accuracy of every epoch to a trial, and ends the search if the trial is pruned."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial = trial

    def on_epoch_end(self, searcher: Searcher, record: EpochRecord) -> None:  # noqa: ARG002
        self.trial.report(record.metrics["discrete_accuracy"], record.epoch)
        if self.trial.should_prune():
            raise optuna.TrialPruned  # what a hook raises ends the search


def objective(trial: optuna.Trial, epochs: int) -> float | None:
    """The accuracy on held-out images of the cell that a search finds, with the weights of the supernet."""
    method = trial.suggest_categorical("method", ["darts", "gaea-darts"])
    arch_lr = trial.suggest_float(f"{method}.lr", 1e-3, 1.0, log=True)  # rates of methods do not compare
    lr = trial.suggest_float("weights.lr", 0.01, 0.3, log=True)
    searcher = Searcher(
        "nano",
        {"name": method, "lr": arch_lr},
        "digits",
        epochs=epochs,
        net={"channels": 8},
        weights={"lr": lr},
        hooks=[Prune(trial)],
    )
    return searcher.fit().discrete_accuracy


def main(argv: Sequence[str] | None = None) -> optuna.Study:
    """Run the trials, and print the best."""
    parser = argparse.ArgumentParser(description="tune a search with Optuna")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--storage", help="such as sqlite:///study.db, to continue the study later")
    args = parser.parse_args(argv)
    study = optuna.create_study(
        study_name="dartboard",
        storage=args.storage,
        load_if_exists=True,
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
    )
    study.optimize(lambda trial: objective(trial, args.epochs), n_trials=args.trials)
    print(f"accuracy {study.best_value:.3f} with {study.best_params}")
    return study


if __name__ == "__main__":
    main()
