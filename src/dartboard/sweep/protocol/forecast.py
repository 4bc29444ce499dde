"""How long a protocol will take and how much memory, from a few real steps that leave no trace."""

from random import Random

from dartboard.search.forecast import Forecast
from dartboard.search.forecast import forecast as forecast_search
from dartboard.search.searcher import Searcher
from dartboard.space import sample
from dartboard.sweep.protocol.config import ProtocolConfig
from dartboard.sweep.protocol.jobs import ProtocolJobs
from dartboard.train.forecast import forecast as forecast_training
from dartboard.train.trainer import Trainer


def forecast(jobs: ProtocolJobs) -> Forecast:
    """Times a few steps of a search and of a training; no network is taken to be found twice.

    Args:
        jobs: Those of the protocol.
    """
    genotype = sample(jobs.searched_space, Random(0))
    searcher = jobs.builder.build_job(jobs.search(0))
    trainer = jobs.builder.build_job(jobs.final("any", genotype, 0))
    assert isinstance(searcher, Searcher)  # noqa: S101
    assert isinstance(trainer, Trainer)  # noqa: S101
    search, train = forecast_search(searcher), forecast_training(trainer)
    seconds = total_seconds(jobs.config, search.seconds, train.seconds)
    return Forecast(seconds, train.step_seconds, max(search.memory_bytes, train.memory_bytes))


def total_seconds(config: ProtocolConfig, search: float, train: float) -> float:
    """What all stages of both arms take at most, if all different networks take the same time.

    Args:
        config: The protocol.
        search: Seconds of one search.
        train: Seconds of one whole training.
    """
    short = min(config.short / config.train.epochs, 1.0)
    kept = min(config.keep, config.searches)
    arm = (config.searches * short + kept * (1 - short) + config.seeds) * train
    searching = config.searches * search
    beside = {"none": 0.0, "count": arm, "time": arm + searching}
    return searching + arm + beside[config.random]
